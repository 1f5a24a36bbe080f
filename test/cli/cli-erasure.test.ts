import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("an erasure is counted, refused by a legal hold, done after its release, and listed; retention is set and shown", async () => {
  const { api_key: key } = await (await testOrganization(database.db)).key();
  const intent = { agent: { id: "bot", on_behalf_of: "jane" }, action: { verb: "send_email" } };
  await call(url, "POST", "/v1/intents", { key, body: { intent } });
  const run = (...args: string[]) => runCli([...args, "--url", url], { COUNTERSIGN_API_KEY: key });

  expect((await run("erase", "subject", "person", "jane", "--dry-run")).stdout).toMatch(/^intents +1\n/);
  const placed = await run("legal-holds", "place", "person", "jane", "--reason", "case 1");
  const hold_id = /hld_\w+/.exec(placed.stdout)?.[0] ?? "";
  expect((await run("legal-holds", "list")).stdout).toContain("case 1");
  const refused = await run("erase", "subject", "person", "jane");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(hold_id)]);
  await run("legal-holds", "release", hold_id);
  expect((await run("erase", "subject", "person", "jane")).stdout).toMatch(
    /ers_\w+ (is done|goes on in the background)\nproof of the subject: SHA-256/,
  );
  await expect.poll(async () => (await run("erase", "list")).stdout).toMatch(/ers_\w+ +person +done +100 % +1 /);

  expect((await run("retention", "set", "--content", "365", "--dry-run")).stdout).toContain("nothing is saved");
  expect((await run("retention", "show")).stdout).toMatch(/content of decisions +forever/);
  expect((await run("retention", "set", "--content", "365")).stdout).toContain("saved");
  expect((await run("retention", "show")).stdout).toMatch(/content of decisions +365 days +0/);
});
