import type { Escalation } from "@countersign/contract";
import type { CountedDemand } from "@countersign/core";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { testPerson } from "../../testing/people/person.ts";
import type { MailContents } from "../people/mail.ts";
import { remindReviewers } from "./remind-reviewers.ts";
import { tellReviewers } from "./tell-reviewers.ts";

const { db } = await testDatabase();
const sealer = { seal: (text: string) => text, open: (text: string) => text } as never;
const runtime = { db, ids: createIds(createClock()), sealer, mails: { wake: () => undefined } };

const role = (id: string) => ({ type: "role" as const, id });
const panel = (policy: string, id: string, more: Partial<CountedDemand> = {}): CountedDemand => ({
  ...{ policy, reviewers: [role(id)], quorum: 1, approved_by: [] },
  ...more,
});

async function opened(
  org_id: string,
  minutes: number,
  all: number,
  demands: readonly CountedDemand[],
): Promise<string> {
  const escalation_id = runtime.ids.next("escalation");
  const record: Partial<Escalation> = {
    ...{ escalation_id, agent_id: "bot", status: "pending", votes: [], reviewers: [role("operator")] },
    action: { type: "payment.transfer", verb: "pay", target: null, summary: null },
  };
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, status, mode, demands, created_at, expires_at, record)
     select $1, $2, $2, $2, 'bot', 'pending', 'live', $3::json, created_at, expires_at, ($4::jsonb || jsonb_build_object('expires_at',
       to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json
     from (select now() - $5::interval as created_at, now() - $5::interval + $6::interval as expires_at) t`,
    [org_id, escalation_id, JSON.stringify(demands), JSON.stringify(record), `${minutes} minutes`, `${all} minutes`],
  );
  return escalation_id;
}

const pass = (minutes: number) =>
  db.query(
    `update escalations set created_at = created_at - d, expires_at = expires_at - d, notice_at = notice_at - d,
       record = (record::jsonb || jsonb_build_object('expires_at',
         to_char((expires_at - d) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json
     from (select $1::interval as d) t`,
    [`${minutes} minutes`],
  );

async function mailed(): Promise<{ to: string; rules: (readonly string[])[]; reminders: (string | undefined)[] }[]> {
  const rows = await db.query<{ sealed: string }>(
    "select sealed from mails where kind = 'escalations' order by mail_id",
  );
  await db.query("delete from mails");
  return rows.map(({ sealed }) => {
    const { to, waiting } = JSON.parse(sealed) as MailContents["escalations"];
    return { to, rules: waiting.map(({ rules = [] }) => rules), reminders: waiting.map(({ reminder }) => reminder) };
  });
}

async function organization() {
  await db.query("delete from escalations");
  const { org_id } = await testOrganization(db);
  return {
    org_id,
    ann: await testPerson(db, org_id, { role: "operator" }),
    bob: await testPerson(db, org_id, { role: "reviewer" }),
  };
}

const remind = () => Promise.all([remindReviewers(runtime), remindReviewers(runtime)]);

test("missing approvers are reminded at half of the time and when a tenth is left", async () => {
  const { org_id, ann } = await organization();
  await opened(org_id, 0, 100, [panel("wires", "operator"), panel("met", "operator", { approved_by: ["usr_x"] })]);
  await tellReviewers(runtime);
  expect(await mailed()).toEqual([{ to: ann.email, rules: [["wires"]], reminders: [undefined] }]);
  const seen = [];
  for (const minutes of [49, 2, 38, 2, 8]) {
    await pass(minutes);
    await remind();
    seen.push((await mailed()).map(({ reminders }) => reminders));
  }
  expect(seen).toEqual([[], [["half"]], [], [["tenth"]], []]);
});

test("no reminders go to voters, for reviews of less than 10 minutes, or for closed reviews", async () => {
  const { org_id, ann } = await organization();
  await opened(org_id, 0, 9, [panel("short", "operator")]);
  const voted = await opened(org_id, 0, 100, [panel("wires", "operator", { quorum: 2, approved_by: [ann.user_id] })]);
  await db.query(
    `update escalations set record = (record::jsonb || jsonb_build_object('votes', jsonb_build_array(jsonb_build_object('reviewer', $2::text))))::json
     where escalation_id = $1`,
    [voted, ann.user_id],
  );
  await opened(org_id, 0, 60, [panel("over", "operator")]);
  await tellReviewers(runtime);
  await mailed();
  await pass(61);
  await remind();
  expect(await mailed()).toEqual([]);
});

test("while a reviewer is absent, the delegate is reminded instead", async () => {
  const { org_id, ann, bob } = await organization();
  await db.query(
    `insert into absences (org_id, user_id, delegate, by_admin, named_by, starts_at, ends_at)
     values ($1, $2, $3, true, 'usr_admin', now() - interval '1 day', now() + interval '1 day')`,
    [org_id, ann.user_id, bob.user_id],
  );
  await opened(org_id, 0, 100, [panel("wires", "operator", { reviewers: [{ type: "user", id: ann.user_id }] })]);
  await tellReviewers(runtime);
  await mailed();
  await pass(51);
  await remind();
  expect(await mailed()).toEqual([{ to: bob.email, rules: [["wires"]], reminders: ["half"] }]);
});

test("if an approval no longer counts, its panel's reviewers are reminded", async () => {
  const { org_id, ann } = await organization();
  const voted = await opened(org_id, 0, 100, [panel("wires", "operator", { approved_by: ["usr_gone"] })]);
  await db.query(
    `update escalations set record = (record::jsonb || '{"votes": [{"reviewer": "usr_gone", "outcome": "approve"}]}')::json
     where escalation_id = $1`,
    [voted],
  );
  await tellReviewers(runtime);
  expect(await mailed()).toEqual([]);
  await pass(51);
  await remind();
  expect(await mailed()).toEqual([{ to: ann.email, rules: [["wires"]], reminders: ["half"] }]);
});

test("several reminders that were missed while no node ran become one", async () => {
  const { org_id, ann } = await organization();
  await opened(org_id, 0, 100, [panel("wires", "operator")]);
  await tellReviewers(runtime);
  await mailed();
  await pass(95);
  await remind();
  expect(await mailed()).toEqual([{ to: ann.email, rules: [["wires"]], reminders: ["tenth"] }]);
});

test("the second tier of a rule gets one mail when it opens, for its own panel, then reminders like the others", async () => {
  const { org_id, ann, bob } = await organization();
  const tier = { after_seconds: 1_200, reviewers: [role("reviewer")] };
  const left = { tier, tier_left_us: 80 * 60_000_000 };
  await opened(org_id, 0, 100, [panel("wires", "operator", left), panel("plain", "operator")]);
  await tellReviewers(runtime);
  expect((await mailed()).map(({ to }) => to)).toEqual([ann.email]);
  await pass(19);
  await remind();
  expect(await mailed()).toEqual([]);
  await pass(2);
  await remind();
  expect(await mailed()).toEqual([{ to: bob.email, rules: [["wires"]], reminders: [undefined] }]);
  await pass(30);
  await remind();
  expect((await mailed()).map(({ to, rules }) => [to, rules]).sort()).toEqual(
    [
      [ann.email, [["wires", "plain"]]],
      [bob.email, [["wires"]]],
    ].sort(),
  );
});
