import { expect, test, vi } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";
import { heldBody, reviewedOrganization } from "../../src/testing/people/review.ts";

test("a client that disconnects during its wait is dropped, logged and counted", async () => {
  const database = await testDatabase();
  const requests: object[] = [];
  const log = { ...silentLog, info: (fields: object) => void requests.push(fields) };
  const { url, metrics, runtime } = await serviceNode(database, { log });
  const { agent, org } = await reviewedOrganization(database.db, url);
  const { json } = await call(url, "POST", "/v1/intents", { key: agent, body: heldBody });
  requests.length = 0;
  const waits = vi.spyOn(runtime.waits, "untilFinal");
  const client = new AbortController();
  const path = `${url}/v1/intents/${json.decision.intent_id}/decision?wait=50`;
  const wait = fetch(path, { headers: { "X-API-Key": agent }, signal: client.signal });
  wait.catch(() => undefined);
  await expect.poll(() => waits.mock.calls.length).toBe(1);
  client.abort();
  await expect(wait).rejects.toThrow("aborted");
  const gone = { route: "getDecision", status: 0, error_code: "client_gone", org_id: org.org_id };
  await expect.poll(() => requests).toMatchObject([gone]);
  expect(await metrics.text()).toContain('countersign_http_requests_total{operation="getDecision",status="0"} 1');
});

test("many clients that wait for one ruling cost only a few reads of the decision", async () => {
  const database = await testDatabase();
  const { url, runtime } = await serviceNode(database);
  const { agent, reviewer } = await reviewedOrganization(database.db, url);
  const { json } = await call(url, "POST", "/v1/intents", { key: agent, body: heldBody });
  const { intent_id, escalation_id } = json.decision;
  const waits = vi.spyOn(runtime.waits, "untilFinal");
  const waiting = Array.from({ length: 60 }, () =>
    call(url, "GET", `/v1/intents/${intent_id}/decision?wait=50`, { key: agent }),
  );
  await vi.waitUntil(() => waits.mock.calls.length === waiting.length, 20_000);
  const transactions = vi.spyOn(database.db, "tenant");
  const body = { outcome: "approve" };
  expect(await call(url, "POST", `/v1/escalations/${escalation_id}/decision`, { key: reviewer, body })).toMatchObject({
    status: 200,
  });
  for (const answer of await Promise.all(waiting)) expect(answer.json.decision.outcome).toBe("approve");
  expect(transactions.mock.calls.length).toBeLessThan(15);
});
