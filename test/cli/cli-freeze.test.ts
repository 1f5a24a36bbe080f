import { beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
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

const cli = (key: string, ...args: string[]) => runCli([...args, "--url", url], { COUNTERSIGN_API_KEY: key });
const submit = async () => {
  const body = { intent: { agent: { id: "billing-bot" }, action: { verb: "read_page" } } };
  return (await call(url, "POST", "/v1/intents", { key: of.agent, body })).json.decision.verdict;
};

test("freeze counts what it stops, freezes and lists; unfreeze ends it", async () => {
  expect(await submit()).toBe("approve");
  const why = ["--reason", "it pays twice"];
  const dry = await cli(of.operator, "freeze", "agent", "billing-bot", ...why, "--dry-run");
  const counts = "an actor with 1 decision in the last 24 hours, 0 open reviews and 0 unspent overrides\n";
  expect([dry.code, dry.stdout, dry.stderr]).toEqual([0, `the freeze would stop ${counts}`, ""]);
  expect(await submit()).toBe("approve");

  const frozen = await cli(of.operator, "freeze", "agent", "billing-bot", ...why);
  expect([frozen.code, frozen.stdout]).toEqual([
    0,
    `the freeze stops ${counts.replace("1 decision", "2 decisions")}the agent billing-bot is frozen (block)\n`,
  ]);
  expect(await submit()).toBe("block");
  const whole = await cli(of.operator, "freeze", "organization", ...why, "--mode", "escalate");
  expect(whole.stdout).toContain("the organization is frozen (escalate)");
  expect((await cli(of.reviewer, "freeze", "list")).stdout).toMatch(
    /the organization +escalate .+\nthe agent billing-bot +block .+it pays twice\n$/,
  );

  for (const what of [["agent", "billing-bot"], ["organization"]]) {
    const ended = await cli(of.admin, "unfreeze", ...what, "--reason", "it is mended");
    expect(ended.stdout).toMatch(/is no longer frozen\n$/);
  }
  expect(await submit()).toBe("approve");
  expect((await cli(of.reviewer, "freeze", "list")).stdout).toBe("nothing is frozen\n");
});

test("reports a refusal, and exits with 1", async () => {
  const refused = await cli(of.reviewer, "freeze", "organization", "--reason", "x");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  const none = await cli(of.admin, "unfreeze", "agent", "nobody", "--reason", "x");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("This is not frozen.")]);
  expect((await cli(of.admin, "freeze", "agent", "x")).code).toBe(1);
});
