import { expect, test } from "vitest";
import { createClock } from "../edge/clock.ts";
import { createIds } from "../edge/ids.ts";
import { timeOutEscalations } from "../operations/escalations/time-out-escalations.ts";
import { createOrgStates } from "../operations/shared/org-state.ts";
import { readDueEscalations } from "../store/escalations/escalations.ts";
import { testDatabase } from "../testing/database/database.ts";
import { call } from "../testing/nodes/http-node.ts";
import { serviceNode } from "../testing/nodes/service-node.ts";
import { silentLog } from "../testing/nodes/silent-log.ts";
import { deadlineIn, heldBody, reviewedOrganization } from "../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;

test("many expired reviews of one organization do not delay another's", async () => {
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     select org_id, org_id || ' ' || n, '', '', '', 'live', 'pending', '{}', now(), clock_timestamp() - n * interval '1 s', '[]'
     from (select 'org_a' as org_id, n from generate_series(5, 9) n union all select 'org_b', 1) as over`,
  );
  const due = async (limit: number, passed_over: readonly string[] = []) =>
    (await db.system((query) => readDueEscalations(query, limit, passed_over))).map((each) => each.escalation_id);
  expect(await due(3)).toEqual(["org_a 9", "org_b 1", "org_a 8"]);
  expect(await due(10, ["org_a 9", "org_b 1"])).toEqual(["org_a 8", "org_a 7", "org_a 6", "org_a 5"]);
  await db.query("delete from escalations");
});

test("reviews that cannot be closed, in any number, do not hide others from their time limit", async () => {
  const { url } = await serviceNode(database);
  const { agent, org } = await reviewedOrganization(db, url);
  const { decision } = (await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).json;
  // 101 of them were due before the other one, more than two passes read.
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, demands, expires_at)
     select org_id, 'esc_' || lpad(n::text, 26, '0'), 'int_' || n, decision_id, agent_id, mode, status, record, created_at, demands,
       clock_timestamp() - case when n <= 101 then interval '1 hour' else n * interval '1 s' end
     from escalations, generate_series(1, 120) n where org_id = $1`,
    [org.org_id],
  );
  await deadlineIn(db, [decision.escalation_id], "-1 us");
  const path = `/v1/intents/${decision.intent_id}/decision?wait=30`;
  expect((await call(url, "GET", path, { key: agent })).json.decision).toMatchObject({
    status: "final",
    escalation_status: "timed_out",
  });
});

test("an organization whose sessions are all held does not delay others with each of its expired reviews", async () => {
  await db.query("delete from escalations");
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at, demands)
     select 'org_a', 'org_a ' || n, '', '', '', 'live', 'pending', '{}', now(), clock_timestamp() - interval '1 s', '[]' from generate_series(1, 60) n`,
  );
  const asked: string[] = [];
  const tenant = async (org_id: string) => {
    asked.push(org_id);
    throw new Error("timeout exceeded when waiting for a session of this organization");
  };
  const runtime = {
    db: { ...db, tenant },
    orgStates: createOrgStates(db, () => Promise.reject(new Error("nothing of these is approved by time"))),
    ids: createIds(createClock()),
    log: silentLog,
    deliveries: { wake: () => {} },
  };
  const passed_over: string[] = [];
  expect(await timeOutEscalations(runtime, passed_over)).toBe(true);
  expect([asked, passed_over.length]).toEqual([["org_a"], 50]);
  expect(await timeOutEscalations(runtime, passed_over)).toBe(false);
  expect([asked, passed_over.length]).toEqual([["org_a", "org_a"], 60]);
  await db.query("delete from escalations");
});
