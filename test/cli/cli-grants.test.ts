import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { activatePayPolicy, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("grants list shows what a grant allows, and grants revoke ends it once", async () => {
  const of = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "approve" });
  const escalation = { grants: { times_max: 2, hours_max: 24 } };
  await activatePayPolicy(url, of, "large", { when: "true", escalation });
  const run = (...args: string[]) => runCli(["grants", ...args, "--url", url], { COUNTERSIGN_API_KEY: of.reviewer });
  expect((await run("list")).stdout).toBe("there are no grants\n");
  const intent = { agent: { id: "bot" }, action: { verb: "pay" } };
  const { intent_id } = (await call(url, "POST", "/v1/intents", { key: of.agent, body: { intent } })).json;
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const scope = { agent_id: "bot", verb: "pay" };
  const body = { intent_id, scope, times: 2, until, reason: "usual" };
  const { grant } = (await call(url, "POST", "/v1/grants", { key: of.reviewer, body })).json;
  const listed = (await run("list", "--live")).stdout;
  expect(listed).toContain(grant.grant_id);
  expect(listed).toContain("The agent bot may run pay, 2 times. Free: the target, the session, all parameters.");
  expect((await run("revoke", grant.grant_id)).stdout).toBe(`the grant ${grant.grant_id} is revoked\n`);
  expect((await run("list", "--live")).stdout).toBe("there are no grants\n");
  expect((await run("revoke", grant.grant_id)).code).toBe(1);
});
