/** The start's report on open mode. */
import { expect, test } from "vitest";
import { createLog } from "../../packages/server/src/edge/log.ts";
import { readConfig } from "../../packages/server/src/edge/start/config.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();

/** Everything that a node logged from its start to its end; in between `meanwhile` worked with it. */
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
  "behind a proxy that is %s the start says that there is no open mode, and how the first key is made",
  async (_name, more) => {
    const said = await started(async (url) => {
      expect((await fetch(`${url}/v1/api-keys`)).status).toBe(401);
    }, more);
    expect(said).toMatch(/"level":"warn".*"org_id":"org_local".*countersign keys create/);
    expect(said).not.toContain("OPEN MODE");
  },
);

test("while open mode is on every start warns of it; from the first key on none does", async () => {
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
