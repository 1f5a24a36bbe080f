import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("membranes go live and return with a second person, and say why they are not ready", async () => {
  const org = await testOrganization(database.db);
  const [ann, bob] = [(await org.key()).api_key, (await org.key()).api_key];
  const body = { go_live_needs_second_person: true, go_live_needs_name: true };
  expect((await call(url, "PATCH", "/v1/organization", { key: ann, body })).status).toBe(200);
  const [{ membrane_id }] = (await call(url, "GET", "/v1/membranes", { key: ann })).json.membranes;
  const run = (key: string, ...args: string[]) =>
    runCli(["membranes", ...args, "--url", url], { COUNTERSIGN_API_KEY: key });

  expect((await run(ann, "readiness", membrane_id)).stdout).toMatch(/^not yet\n- 0 decisions in shadow/);
  const read = async (...args: string[]) => JSON.parse((await run(ann, ...args)).stdout);
  expect(await read("readiness", membrane_id, "--json")).toMatchObject({ verdict: "not_yet" });
  expect(await read("show", membrane_id)).toMatchObject({ membrane_id, status: "shadow" });
  expect(await read("list", "--json")).toMatchObject([{ membrane_id, name: "default" }]);
  expect((await run(ann, "go-live", membrane_id)).code).not.toBe(0);
  const asked = await run(ann, "go-live", membrane_id, "--name", "default");
  expect(asked.stdout).toContain("is still shadow: a second, different person must run the same command");
  expect((await run(ann, "list")).stdout).toMatch(/default +shadow +live, asked by /);
  expect((await run(bob, "go-live", membrane_id, "--name", "default")).stdout).toContain("default is live\n");
  expect((await run(bob, "return-to-shadow", membrane_id)).code).not.toBe(0);
  const why = ["--reason", "it holds too much"];
  expect((await run(bob, "return-to-shadow", membrane_id, ...why)).stdout).toContain("is still live");
  expect((await run(ann, "return-to-shadow", membrane_id, ...why)).stdout).toBe("the membrane default is shadow\n");
});
