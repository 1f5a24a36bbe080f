import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("rollouts are planned, shown, advanced, stopped, returned and removed", async () => {
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const [{ membrane_id }] = (await call(url, "GET", "/v1/membranes", { key })).json.membranes;
  const run = (group: string, step: string, ...args: string[]) =>
    runCli([group, step, membrane_id, ...args, "--url", url], { COUNTERSIGN_API_KEY: key });
  const rollouts = async (step: string, ...args: string[]) => (await run("rollouts", step, ...args)).stdout;

  expect(await rollouts("show")).toBe("this membrane has no rollout\n");
  const wrong = await run("rollouts", "plan", "--stage", "5%");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("such as 0.05:100:24")]);
  const plan = ["--stage", "0.05:100:24", "--stage", "1:1000:72", "--holds-per-day", "20", "--returns-holds"];
  expect(await rollouts("plan", ...plan)).toMatch(/^waiting: stage 1 of 2\nenforced for 5 % of registered agents/);
  expect(JSON.parse(await rollouts("show", "--json"))).toMatchObject({
    stages: [{ share: 0.05, decisions_min: 100, hours_min: 24 }, { share: 1 }],
    guard: { holds_per_day_max: 20, overridden_share_max: 0.1 },
    ...{ advances_itself: false, returns_holds_itself: true },
  });
  expect(await rollouts("remove")).toContain("the plan is removed");
  await rollouts("plan", ...plan);
  await run("membranes", "go-live");
  expect(await rollouts("advance")).toMatch(/^running: stage 2 of 2\nenforced for 100 %/);
  expect((await run("rollouts", "stop")).stderr).toContain("--reason");
  expect(await rollouts("stop", "--reason", "A holiday.")).toMatch(/^stopped: stage 2/);
  expect(await rollouts("return", "--stage", "1", "--reason", "Too early.")).toMatch(/^stopped: stage 1/);
  expect(await rollouts("show")).toMatch(/\nblocks overridden +0 of 0 +0 % to 100 % +10 % +0 %\n/);
});
