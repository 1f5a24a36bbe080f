/** What was answered cannot be changed behind the audit trail's back. Source: architecture.md §6, SECURITY.md. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { blockedBody, deadlineIn, heldBody, reviewedOrganization } from "../../testing/people/review.ts";
import { verifyAudit } from "./audit.ts";
import { verifyRecords } from "./audit-records.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
beforeAll(async () => {
  url = (await serviceNode(database)).url;
});

/** An organization with an intent that was blocked, one that a person approved, a cancelled one and a held one. */
async function recorded() {
  const org = await reviewedOrganization(db, url);
  const post = async (path: string, key: string, body: unknown) => (await call(url, "POST", path, { key, body })).json;
  const submit = async (body: object) => (await post("/v1/intents", org.agent, body)).decision;
  const blocked = await submit(blockedBody);
  const ruled = await submit(heldBody);
  const cancelled = await submit(heldBody);
  const held = await submit(heldBody);
  const ruling = { outcome: "approve", comment: "Grüße \u{1f511}" };
  await post(`/v1/escalations/${ruled.escalation_id}/decision`, org.reviewer, ruling);
  await post(`/v1/escalations/${cancelled.escalation_id}/cancel`, org.operator, {});
  return { ...org.org, blocked, ruled, held };
}
type Recorded = Awaited<ReturnType<typeof recorded>>;

const check = (org_id: string) => db.tenant(org_id, (query) => verifyRecords(query, org_id));
const trail = (org_id: string) => db.tenant(org_id, (query) => verifyAudit(query, org_id));

/** Ends a transaction whose changes are to be undone. */
class Undone extends Error {}

/** Returns what `look` finds after `change`, and undoes the change. */
async function foundAfter<T>(
  change: (query: Query) => Promise<unknown>,
  look: (query: Query) => Promise<T>,
): Promise<T> {
  const found: T[] = [];
  const changing = db.system(async (query) => {
    await change(query);
    found.push(await look(query));
    throw new Undone();
  });
  await expect(changing).rejects.toThrow(Undone);
  return found[0] as T;
}

describe("verifyRecords", () => {
  let org: Recorded;
  const changed = (change: (query: Query) => Promise<unknown>) =>
    foundAfter(change, (query) => verifyRecords(query, org.org_id));
  beforeAll(async () => {
    org = await recorded();
  });

  test.each<[what: string, which: keyof Recorded & ("blocked" | "ruled" | "held"), change: string]>([
    ["a changed intent", "blocked", "intent = replace(intent::text, 'hello', 'hallo')::json"],
    ["changed facts", "blocked", "facts = replace(facts::text, 'true', 'false')::json"],
    ["a changed decision", "blocked", `decision = replace(decision::text, '"block"', '"approve"')::json`],
    ["white space in a text", "blocked", "facts = (facts::text || ' ')::json"],
    ["a changed verdict in the column", "blocked", "verdict = 'approve'"],
    ["a changed agent in the column", "blocked", "agent_id = 'agent-2'"],
    ["a changed time", "blocked", "created_at = created_at - interval '1 day'"],
    ["a changed ruling", "ruled", `resolution = replace(resolution::text, '"approve"', '"block"')::json`],
    ["a ruling taken back", "ruled", "status = 'pending', resolution = null"],
    ["a ruling that nobody made", "held", `status = 'final', resolution = '{"outcome":"approve"}'`],
    ["a held intent made final", "held", "status = 'final'"],
  ])("notices %s", async (_, which, change) => {
    const { intent_id } = org[which];
    const found = await changed((query) =>
      query(`update intents set ${change} where org_id = $1 and intent_id = $2`, [org.org_id, intent_id]),
    );
    const seq = expect.any(Number);
    expect(found).toEqual({ sound: false, intent_id, seq, problem: "intent_changed" });
  });

  test("notices a changed record of a closed review, and a removed one", async () => {
    const { org_id, ruled } = org;
    const found = { sound: false, intent_id: ruled.intent_id, problem: "intent_changed" };
    const change = "update escalations set record = replace(record::text, $3, 'x')::json";
    const which = "where org_id = $1 and escalation_id = $2";
    const review = [org_id, ruled.escalation_id];
    expect(await changed((query) => query(`${change} ${which}`, [...review, "Grüße"]))).toMatchObject(found);
    expect(await changed((query) => query(`delete from escalations ${which}`, review))).toMatchObject(found);
  });

  test("notices an intent that no audit row tells of, and an audit row whose intent is gone", async () => {
    const { org_id, blocked } = org;
    const which = "where org_id = $1 and intent_id = $2";
    const forged = `int_${"7".repeat(26)}`;
    const forge = (query: Query) =>
      query(`update intents set intent_id = $3 ${which}`, [org_id, blocked.intent_id, forged]);
    const unaudited = { sound: false, intent_id: forged, seq: null, problem: "intent_unaudited" };
    expect(await changed(forge)).toEqual(unaudited);
    const [row] = await db.query<{ seq: number }>(`select seq from audit ${which} and type = 'decided'`, [
      ...[org_id, blocked.intent_id],
    ]);
    const found = await foundAfter(forge, (query) => verifyAudit(query, org_id));
    expect(found).toEqual({ sound: false, seq: row?.seq, problem: "intent_missing" });
  });

  test("finds nothing in what the service wrote: decisions, rulings, cancellations, time-outs", async () => {
    const { org_id, held } = org;
    expect(await check(org_id)).toEqual({ sound: true, intents: 4, unhashed: 0 });
    await deadlineIn(db, [held.escalation_id], "-1 second");
    const closed = async () =>
      (await db.query("select true from intents where org_id = $1 and status = 'pending'", [org_id])).length === 0;
    await expect.poll(closed).toBe(true);
    expect(await check(org_id)).toEqual({ sound: true, intents: 4, unhashed: 0 });
    expect(await trail(org_id)).toMatchObject({ sound: true });
  });
});
