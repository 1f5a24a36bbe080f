import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("approvals revoke ends an unclaimed approval; a refusal exits with 1", async () => {
  const of = await reviewedOrganization(database.db, url);
  const revoke = (key: string) =>
    runCli(["approvals", "revoke", decision.escalation_id, "--reason", "wrong", "--url", url], {
      COUNTERSIGN_API_KEY: key,
    });
  const body = { ...heldBody, claim: "required" };
  const { decision } = (await call(url, "POST", "/v1/intents", { key: of.agent, body })).json;
  const early = await revoke(of.operator);
  expect([early.code, early.stdout]).toEqual([1, ""]);
  expect(early.stderr).toContain("Nothing was approved.");
  const path = `/v1/escalations/${decision.escalation_id}/decision`;
  await call(url, "POST", path, { key: of.reviewer, body: { outcome: "approve" } });
  expect((await revoke(of.reviewer)).code).toBe(1);
  const revoked = await revoke(of.operator);
  expect([revoked.code, revoked.stdout]).toEqual([0, `the approval of ${decision.intent_id} is revoked\n`]);
  const claim = `/v1/intents/${decision.intent_id}/claim`;
  expect((await call(url, "POST", claim, { key: of.agent, body: { nonce: "n" } })).status).toBe(409);
});
