import { beforeAll, describe, expect, test } from "vitest";
import type { Query } from "../../../ports.ts";
import { testDatabase } from "../../../testing/database/database.ts";
import { call } from "../../../testing/nodes/http-node.ts";
import { serviceNode } from "../../../testing/nodes/service-node.ts";
import { blockedBody, deadlineIn, heldBody, reviewedOrganization } from "../../../testing/people/review.ts";
import { foundAfter } from "../../../testing/undone.ts";
import { verifyAudit } from "../verify-audit.ts";
import type { Difference } from "./differences.ts";
import { verifyReviews } from "./verify-reviews.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
beforeAll(async () => {
  url = (await serviceNode(database)).url;
});

/** Creates intents: blocked, approved by a person, cancelled and held. */
async function recorded() {
  const org = await reviewedOrganization(db, url);
  const post = async (path: string, key: string, body: unknown) => (await call(url, "POST", path, { key, body })).json;
  const submit = async (body: object) => (await post("/v1/intents", org.agent, body)).decision;
  await submit(blockedBody);
  const ruled = await submit(heldBody);
  const cancelled = await submit(heldBody);
  const held = await submit(heldBody);
  const ruling = { outcome: "approve", comment: "Grüße \u{1f511}" };
  await post(`/v1/escalations/${ruled.escalation_id}/decision`, org.reviewer, ruling);
  await post(`/v1/escalations/${cancelled.escalation_id}/cancel`, org.operator, {});
  return { ...org.org, ruled, cancelled, held };
}
type Recorded = Awaited<ReturnType<typeof recorded>>;

const listed = async (query: Query, org_id: string): Promise<Difference[]> => {
  const found: Difference[] = [];
  for await (const each of verifyReviews(query, org_id)) found.push(each);
  return found;
};
const check = (org_id: string) => db.tenant(org_id, (query) => listed(query, org_id));
const trail = (org_id: string) => db.tenant(org_id, (query) => verifyAudit(query, org_id));

describe("verifyReviews", () => {
  let org: Recorded;
  const changed = (change: (query: Query) => Promise<unknown>) =>
    foundAfter(db, change, (query) => listed(query, org.org_id));
  beforeAll(async () => {
    org = await recorded();
  });

  test.each<[what: string, which: keyof Recorded & ("ruled" | "cancelled" | "held"), change: string]>([
    ["a changed ruling", "ruled", `resolution = replace(resolution::text, '"approve"', '"block"')::json`],
    ["white space in a ruling", "ruled", "resolution = (resolution::text || ' ')::json"],
    ["a removed ruling", "ruled", "resolution = null"],
    ["a ruling taken back", "ruled", "status = 'pending', resolution = null"],
    ["another end of a review", "ruled", "status = 'timed_out'"],
    ["a changed record of a review", "ruled", "record = replace(record::text, 'Grüße', 'x')::json"],
    ["a cancellation taken back", "cancelled", "status = 'pending', resolution = null"],
    ["a ruling that nobody made", "held", `status = 'decided', resolution = '{"outcome":"approve"}'`],
    ["a resolution of a review that is open", "held", `resolution = '{"outcome":"approve"}'`],
    ["an open review that was closed", "held", "status = 'decided'"],
    ["another text of an open review", "held", "record = replace(record::text, '\"reason\"', '\"reason_\"')::json"],
    ["other demands of an open review", "held", "demands = '[]'"],
    ["another action under an open review", "held", "fingerprint = decode('00', 'hex')"],
  ])("detects %s", async (_, which, change) => {
    const { escalation_id } = org[which];
    const found = await changed((query) =>
      query(`update escalations set ${change} where org_id = $1 and escalation_id = $2`, [org.org_id, escalation_id]),
    );
    expect(found).toMatchObject([{ table: "escalations", id: escalation_id, problem: "changed" }]);
  });

  test.each(["ruled", "cancelled", "held"] as const)("detects that the review of %s was removed", async (which) => {
    const { escalation_id } = org[which];
    const found = await changed((query) =>
      query("delete from escalations where org_id = $1 and escalation_id = $2", [org.org_id, escalation_id]),
    );
    expect(found).toMatchObject([{ table: "escalations", id: escalation_id, problem: "missing" }]);
  });

  test("names the audit record that closed the review, or the last record of the decision for an open review", async () => {
    const { org_id, ruled, held } = org;
    const seqOf = async (intent_id: string, type: string) =>
      (
        await db.query("select seq from audit where org_id = $1 and intent_id = $2 and type = $3", [
          ...[org_id, intent_id, type],
        ])
      )[0];
    const tampered = ({ escalation_id }: { escalation_id: string }) =>
      changed((query) =>
        query(`update escalations set resolution = '{}' where org_id = $1 and escalation_id = $2`, [
          ...[org_id, escalation_id],
        ]),
      );
    expect(await tampered(ruled)).toMatchObject([(await seqOf(ruled.intent_id, "reviewed")) ?? {}]);
    expect(await tampered(held)).toMatchObject([(await seqOf(held.intent_id, "escalated")) ?? {}]);
  });

  test("accepts everything that the service wrote: decisions, rulings, cancellations, timeouts", async () => {
    const { org_id, held } = org;
    expect(await check(org_id)).toEqual([]);
    await deadlineIn(db, [held.escalation_id], "-1 second");
    const closed = async () =>
      (await db.query("select true from intents where org_id = $1 and status = 'pending'", [org_id])).length === 0;
    await expect.poll(closed).toBe(true);
    expect(await check(org_id)).toEqual([]);
    expect(await trail(org_id)).toMatchObject({ sound: true, intents: 4 });
  });
});
