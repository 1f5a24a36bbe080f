/** Reviews end when their time is over, whatever others do. Source: api.md §6. */
import { expect, test } from "vitest";
import { readDueEscalations } from "../store/escalations.ts";
import { testDatabase } from "../testing/database.ts";
import { call } from "../testing/http-node.ts";
import { deadlineIn, heldBody, reviewedOrganization } from "../testing/review.ts";
import { serviceNode } from "../testing/service-node.ts";

const database = await testDatabase();
const { db } = database;

test("many reviews of one organization that are over keep no other one's waiting", async () => {
  await db.query(
    `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at)
     select org_id, org_id || ' ' || n, '', '', '', 'live', 'pending', '{}', now(), clock_timestamp() - n * interval '1 s'
     from (select 'org_a' as org_id, n from generate_series(5, 9) n union all select 'org_b', 1) as over`,
  );
  const due = async (limit: number, passed_over: readonly string[] = []) =>
    (await db.system((query) => readDueEscalations(query, limit, passed_over))).map((each) => each.escalation_id);
  expect(await due(3)).toEqual(["org_a 9", "org_b 1", "org_a 8"]);
  expect(await due(10, ["org_a 9", "org_b 1"])).toEqual(["org_a 8", "org_a 7", "org_a 6", "org_a 5"]);
  await db.query("delete from escalations");
});

test("reviews that cannot be closed hide no others from their time limit, however many they are", async () => {
  const { url } = await serviceNode(database);
  const { agent, org } = await reviewedOrganization(db, url);
  const { decision } = (await call(url, "POST", "/v1/intents", { key: agent, body: heldBody })).json;
  // Their intents are gone. They were due before the other one, 401 of them at the same moment.
  await db.query(
    `insert into escalations
     select org_id, 'esc_' || lpad(n::text, 26, '0'), 'int_' || n, decision_id, agent_id, mode, status, record, created_at,
       clock_timestamp() - case when n <= 401 then interval '1 hour' else n * interval '1 s' end
     from escalations, generate_series(1, 450) n where org_id = $1`,
    [org.org_id],
  );
  await deadlineIn(db, [decision.escalation_id], "-1 us");
  const path = `/v1/intents/${decision.intent_id}/decision?wait=30`;
  expect((await call(url, "GET", path, { key: agent })).json.decision).toMatchObject({
    status: "final",
    escalation_status: "timed_out",
  });
});
