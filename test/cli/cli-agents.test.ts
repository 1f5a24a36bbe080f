import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("agents set registers, list and show print; a refusal exits with 1", async () => {
  const of = await reviewedOrganization(database.db, url);
  const run = (key: string, ...args: string[]) =>
    runCli(["agents", ...args, "--url", url], { COUNTERSIGN_API_KEY: key });
  expect((await run(of.reviewer, "list")).stdout).toBe("no agent has acted or was registered\n");
  expect((await run(of.admin, "set", "planner", "--owner", "Ann")).stdout).toBe("planner is registered\n");
  expect((await run(of.admin, "set", "worker", "--parent", "Planner")).stdout).toBe(
    "worker is registered below planner\n",
  );
  const { stdout } = await run(of.reviewer, "list", "--prefix", "W");
  expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["AGENT", "STATE", "OWNER", "WORKS FOR", "LAST SEEN"],
    ["worker", "active", "–", "planner", "never"],
    [""],
  ]);
  expect(JSON.parse((await run(of.reviewer, "show", "worker")).stdout)).toMatchObject({ ancestors: ["planner"] });
  const refused = await run(of.admin, "set", "planner", "--parent", "worker");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("Name an agent above it.");
  expect((await run(of.reviewer, "show", "nobody")).code).toBe(1);
});
