import { beforeAll, describe, expect, test } from "vitest";
import { runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const cli = (...args: string[]) => runOnTestDatabase(args, { DATABASE_URL: databaseUrl(database.connection) });
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout);
let url: string;
let adminKey: string;
beforeAll(async () => {
  adminKey = (await cli("keys", "create", "--role", "admin", "--name", "first")).stdout.trim();
  ({ url } = await serviceNode(database));
});

const submit = (api_key: string) =>
  fetch(`${url}/v1/intents`, {
    method: "POST",
    headers: { "x-api-key": api_key, "content-type": "application/json" },
    body: JSON.stringify({ intent: { agent: { id: "a" }, action: { type: "data.read", verb: "look" } } }),
  });

describe("audit verify", () => {
  test("finds the trails valid while the service runs, and prints a root that later runs confirm", async () => {
    await submit(adminKey);
    const [first] = await json("audit", "verify");
    expect(first).toMatchObject({
      org_id: "org_local",
      sound: true,
      root: expect.stringMatching(/^\w{64}$/),
    });
    expect(first.intents).toBeGreaterThan(0);
    await submit(adminKey);
    const later = await cli("audit", "verify", "--org", "org_local", "--expect-root", first.root);
    expect([later.code, later.stdout]).toEqual([0, expect.stringMatching(/^org_local +\d+ +\w{64} +sound$/m)]);
  });

  test("fails if the expected root is not the trail's, and refuses an invalid root", async () => {
    const other = await cli("audit", "verify", "--org", "org_local", "--expect-root", "ab".repeat(32));
    expect([other.code, other.stderr]).toEqual([1, "countersign: 1 of 1 audit trails have problems\n"]);
    expect(other.stdout).toContain("the trail does not contain the expected root");
    const alone = await cli("audit", "verify", "--expect-root", "ab".repeat(32));
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("name it with --org")]);
    expect((await cli("audit", "verify", "--org", "org_local", "--expect-root", "x")).stderr).toContain(
      "64 hex digits",
    );
    expect((await cli("audit", "verify", "--org", "org_none")).stderr).toContain("there is no organization org_none");
  });

  test("names each row that was changed without an entry, and the record that last set it", async () => {
    const change = (name: string) =>
      database.db.system((query) => query("update membranes set name = $1 where org_id = 'org_local'", [name]));
    await change("other");
    const found = await cli("audit", "verify", "--org", "org_local");
    await change("default");
    expect([found.code, found.stderr]).toEqual([1, "countersign: 1 of 1 audit trails have problems\n"]);
    expect(found.stdout).toContain("the trail is sound, but 1 row of the tables differs from it");
    expect(found.stdout).toMatch(/^membranes mem_\w{26} +was changed without an entry: name +2$/m);
    expect((await cli("audit", "verify")).code).toBe(0);
  });
});
