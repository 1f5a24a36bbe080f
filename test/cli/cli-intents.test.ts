import { beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { verifyReceipt } from "../../packages/sdk/src/verify/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let of: Reviewed;
beforeAll(async () => {
  of = await reviewedOrganization(database.db, url, { packs: [] });
});

const cli = (key: string, ...args: string[]) =>
  runCli(["intents", ...args, "--url", url], { COUNTERSIGN_API_KEY: key });

test("an unknown outcome is listed, settled, and then listed no more", async () => {
  const body = { intent: { agent: { id: "billing-bot" }, action: { verb: "pay" } } };
  const { intent_id } = (await call(url, "POST", "/v1/intents", { key: of.agent, body })).json;
  await call(url, "POST", `/v1/intents/${intent_id}/claim`, { key: of.agent, body: { nonce: "died" } });
  expect((await cli(of.reviewer, "unknown")).stdout).toBe("no outcome is unknown\n");
  const earlier = "update claims set claimed_at = claimed_at - interval '16 minutes' where intent_id = $1";
  await database.db.system((query) => query(earlier, [intent_id]));
  const listed = await cli(of.reviewer, "unknown");
  expect([listed.code, listed.stdout]).toEqual([
    0,
    expect.stringMatching(`${intent_id} +billing-bot +pay +20.+Z +key_`),
  ]);

  const settled = await cli(of.operator, "settle", intent_id, "--status", "executed", "--detail", "The bank shows it.");
  expect([settled.code, settled.stdout]).toEqual([0, `${intent_id} is reported as executed\n`]);
  expect((await cli(of.reviewer, "unknown")).stdout).toBe("no outcome is unknown\n");
  const { json } = await call(url, "GET", `/v1/intents/${intent_id}/decision`, { key: of.admin });
  expect(json.decision.execution.status).toBe("executed");
});

test("reports a refusal, and exits with 1", async () => {
  const refused = await cli(of.operator, "settle", "int_01KB0000000000000000000000", "--status", "failed");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect((await cli(of.operator, "settle", "int_1", "--status", "paid")).code).toBe(1);
});

test("a receipt is printed unchanged, and verifies with the log's key", async () => {
  const body = { intent: { agent: { id: "billing-bot" }, action: { verb: "pay" } } };
  const { intent_id } = (await call(url, "POST", "/v1/intents", { key: of.agent, body })).json;
  const { code, stdout, stderr } = await cli(of.operator, "receipt", intent_id);
  expect([code, stderr]).toEqual([0, ""]);
  const { keys } = (await call(url, "GET", "/v1/audit/log/key", { key: of.operator })).json;
  expect(await verifyReceipt(stdout, { keys: [keys[0].verifier_key] })).toMatchObject({ ok: true, intent_id });
  const proof = await cli(of.operator, "receipt", intent_id, "--tlog-proof");
  expect([proof.code, proof.stdout]).toEqual([
    0,
    expect.stringMatching(/^c2sp\.org\/tlog-proof@v1\nextra \S+\nindex \d+\n/),
  ]);
});
