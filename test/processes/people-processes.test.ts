import { expect, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { serviceProcess } from "./service-process.ts";

const database = await testDatabase();
const { db } = database;

/** The surviving nodes run in the process of the test. */
const service = () => serviceProcess(database);

async function call(url: string, method: string, path: string, key: string | null, body?: unknown) {
  const headers = { ...(key === null ? {} : { "X-API-Key": key }), "Content-Type": "application/json" };
  try {
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(url + path, sent);
    return { status: response.status, json: JSON.parse(await response.text()) };
  } catch {
    return null;
  }
}

async function organization(url: string, settings: object) {
  const about = { org_name: "Test", email: "a@example.com", description: "A test" };
  const made = (await call(url, "POST", "/v1/onboarding/quickstart", null, about))?.json;
  const admin: string = made.api_key;
  await call(url, "PATCH", `/v1/membranes/${made.membrane_id}`, admin, { packs: [], ...settings });
  await call(url, "POST", `/v1/membranes/${made.membrane_id}/go-live`, admin, {});
  const key = async (role: string): Promise<string> =>
    (await call(url, "POST", "/v1/api-keys", admin, { role }))?.json.api_key;
  return { org_id: made.org_id as string, agent: await key("agent"), operator: await key("operator") };
}
const body = { intent: { agent: { id: "a" }, action: { verb: "pay" }, payload: { content: { amount: 5 } } } };

test("a review that times out while no process runs ends once, with the normal outcome", async () => {
  const first = await service();
  const escalation = { timeout_seconds: 1, on_timeout: "block", reviewers: [], quorum: 1 };
  const org = await organization(first.url, { default_verdict: "escalate", escalation });
  const held = await call(first.url, "POST", "/v1/intents", org.agent, body);
  expect(held?.json.decision).toMatchObject({ verdict: "escalate", status: "pending" });
  first.process.kill("SIGKILL");
  await first.finished;
  const nodes = await Promise.all([serviceNode(database), serviceNode(database)]);
  const path = `/v1/intents/${held?.json.intent_id}`;
  const answers = await Promise.all(nodes.map(({ url }) => call(url, "GET", `${path}/decision?wait=50`, org.agent)));
  for (const answer of answers)
    expect(answer?.json.decision).toMatchObject({ outcome: "block", status: "final", escalation_status: "timed_out" });
  const vote = { outcome: "approve" };
  const late = `/v1/escalations/${held?.json.decision.escalation_id}/decision`;
  expect((await call(nodes[0]?.url ?? "", "POST", late, org.operator, vote))?.status).toBe(409);
  const audit = await call(nodes[1]?.url ?? "", "GET", `${path}/audit`, org.agent);
  const types = audit?.json.audit.map((row: { type: string }) => row.type);
  expect(types).toEqual(["submitted", "decided", "escalated", "timed_out"]);
});

test("an override approves once although a process is killed among 60 retries on two of them", async () => {
  const [one, two] = await Promise.all([service(), serviceNode(database)]);
  const org = await organization(one.url, { default_verdict: "block" });
  const blocked = await call(one.url, "POST", "/v1/intents", org.agent, body);
  const reason = { reason: "seen" };
  const path = `/v1/intents/${blocked?.json.intent_id}/override`;
  const given = await call(two.url, "POST", path, org.operator, reason);
  expect(given?.json.override.status).toBe("active");
  let answered = 0;
  const retries = Array.from({ length: 60 }, (_, n) =>
    call(n % 2 === 0 ? one.url : two.url, "POST", "/v1/intents", org.agent, body).finally(() => (answered += 1)),
  );
  await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0);
  one.process.kill("SIGKILL");
  const told = (await Promise.all(retries)).filter(
    (each) => (each?.json?.decision?.human_override_id ?? null) !== null,
  );
  // The killed process's last commit may be unanswered, but it spent the override.
  await call(two.url, "POST", "/v1/intents", org.agent, body);
  const rows = await db.query<{ intent_id: string }>(
    "select intent_id from intents where org_id = $1 and decision ->> 'human_override_id' = $2",
    [org.org_id, given?.json.override.override_id],
  );
  expect(rows).toHaveLength(1);
  expect(told.length).toBeLessThanOrEqual(1);
  const listed = await call(two.url, "GET", "/v1/overrides", org.operator);
  expect(listed?.json.overrides).toMatchObject([{ status: "consumed", consumed_by: rows[0]?.intent_id }]);
});
