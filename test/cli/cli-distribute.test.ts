import { expect, onTestFinished, test } from "vitest";
import { runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { openClient } from "../../packages/server/src/store/database/connection.ts";
import { citusSchema, citusStandIn } from "../../packages/server/src/testing/database/citus-stand-in.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { temporaryDir } from "../../packages/server/src/testing/database/embedded.ts";

const { connection } = await testDatabase();

async function cli(command: string) {
  const settings = { DATABASE_URL: databaseUrl(connection), COUNTERSIGN_DATA_DIR: await temporaryDir() };
  return runOnTestDatabase([command], settings);
}

test("without Citus it is refused with what to install, and doctor does not mention it", async () => {
  const { code, stdout, stderr } = await cli("distribute");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^countersign: this database has no extension citus: install Citus on each server, .*\n$/);
  expect((await cli("doctor")).stdout).not.toMatch(/citus/);
});

test("it prints each step and a summary; doctor recommends it before and not after", async () => {
  const client = await openClient(connection, "test");
  onTestFinished(() => client.end());
  await client.query(citusSchema);
  await client.query(`set search_path = public, citus; ${citusStandIn}`);
  expect((await cli("doctor")).stdout).toMatch(
    /^PROBLEM +citus +.* tables lie on the coordinator only: .*\n +→ countersign distribute$/m,
  );
  const first = await cli("distribute");
  expect([first.code, first.stdout]).toEqual([
    0,
    expect.stringMatching(/^Distributed \d+ tables\. Functions that run beside their rows: 4\.\n$/),
  ]);
  expect(first.stderr).toMatch(/^table instance: copied to each node$/m);
  expect(first.stderr).toMatch(/^table org_heads: by organization$/m);
  expect(first.stderr).toMatch(/^function commit_decisions\(.*\): by organization$/m);
  expect((await cli("doctor")).stdout).toMatch(/citus +.*all tables are distributed$/m);
  const again = await cli("distribute");
  expect([again.code, again.stdout]).toEqual([
    0,
    "All tables were already distributed. Functions that run beside their rows: 4.\n",
  ]);
});
