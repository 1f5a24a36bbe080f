import { expect, test } from "vitest";
import { createLog } from "../../packages/server/src/edge/log.ts";
import { readConfig } from "../../packages/server/src/edge/start/config.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();

/** Starts a node, runs `meanwhile` with it, stops it, and returns everything it logged. */
async function started(
  meanwhile: (url: string) => Promise<void> = async () => undefined,
  more: Record<string, string> = {},
): Promise<string> {
  let logged = "";
  const write = (line: string) => {
    logged += line;
  };
  const node = await serviceNode(database, { log: createLog("info", { write }), config: readConfig(more) });
  await meanwhile(node.url);
  await node.close();
  return logged;
}

test.each([
  ["declared", { COUNTERSIGN_TRUST_PROXY: "127.0.0.0/8" }],
  ["known by the public URL", { COUNTERSIGN_PUBLIC_URL: "https://countersign.example" }],
])(
  "behind a proxy that is %s the start says that there is no open mode, and how to create the first key",
  async (_name, more) => {
    const said = await started(async (url) => {
      expect((await fetch(`${url}/v1/api-keys`)).status).toBe(401);
    }, more);
    expect(said).toMatch(/"level":"warn".*"org_id":"org_local".*countersign keys create/);
    expect(said).not.toContain("OPEN MODE");
  },
);

test("every start warns of open mode until the first key exists", async () => {
  const warning = /"level":"warn".*"org_id":"org_local".*OPEN MODE/;
  expect(await started()).toMatch(warning);
  const key = JSON.stringify({ role: "admin" });
  const headers = { "Content-Type": "application/json" };
  expect(
    await started(async (url) => {
      expect((await fetch(`${url}/v1/api-keys`, { method: "POST", headers, body: key })).status).toBe(201);
    }),
  ).toMatch(warning);
  expect(await started()).not.toMatch(/open mode/i);
});
