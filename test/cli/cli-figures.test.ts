import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runOnTestDatabase } from "../../packages/cli/src/testing/run-cli.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { addDecided } from "../../packages/server/src/testing/database/decided.ts";

const directory = await mkdtemp(join(tmpdir(), "countersign-figures-"));
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
const { db, connection } = await testDatabase();
const settings = { DATABASE_URL: databaseUrl(connection), COUNTERSIGN_DATA_DIR: join(directory, "data") };
const cli = (...args: string[]) => runOnTestDatabase(args, settings);
const org_id = "org_local";
const at = "2026-11-18T12:00:00.000000Z";
let entries: number;

const counted = async () =>
  (
    await db.query<{ count: number }>(
      `select sum(count)::integer as count from figures where org_id = $1 and kind = 'verdict' and span = 'day' and membrane_id = ''`,
      [org_id],
    )
  )[0]?.count ?? null;
const statusOf = async () => JSON.parse((await cli("figures", "status", "--json")).stdout)[0];

beforeAll(async () => {
  await cli("keys", "create", "--role", "admin");
  await addDecided(db, org_id, [{ at }, { at }, { at, verdict: "approve" }]);
  const [head] = await db.query<{ seq: number }>("select max(audit_seq) as seq from org_heads where org_id = $1", [
    org_id,
  ]);
  entries = head?.seq ?? 0;
});

describe("figures", () => {
  test("status shows how many entries are not counted, and rebuild counts them", async () => {
    expect(await statusOf()).toEqual({ org_id, as_of: 0, head: entries, behind: entries, rebuilding: false });
    const { code, stdout } = await cli("figures", "rebuild", "--org", org_id);
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${org_id} +${entries} +rebuilt$`, "m"))]);
    expect(await counted()).toBe(3);
    const { stdout: table } = await cli("figures", "status");
    expect(table).toMatch(new RegExp(`^${org_id} +${entries} +${entries} +0 *$`, "m"));
  });

  test("rebuild corrects changed figures, and a second run changes nothing", async () => {
    await db.query("update figures set count = count + 7 where org_id = $1", [org_id]);
    for (let run = 0; run < 2; run += 1) {
      expect((await cli("figures", "rebuild")).code).toBe(0);
      expect(await counted()).toBe(3);
    }
  });

  test("rebuild continues an interrupted one, and status shows it in progress", async () => {
    await db.query("update figures_state set as_of = -1, rebuild_to = $2::bigint where org_id = $1", [org_id, entries]);
    expect(await statusOf()).toMatchObject({ as_of: 0, behind: entries, rebuilding: true });
    expect((await cli("figures", "status")).stdout).toContain("rebuild in progress");
    expect((await cli("figures", "rebuild")).stdout).toContain("continued and rebuilt");
    expect(await counted()).toBe(3);
  });

  test("rebuild refuses an unknown organization", async () => {
    const { code, stderr } = await cli("figures", "rebuild", "--org", "org_none");
    expect([code, stderr]).toEqual([1, expect.stringContaining("there is no organization org_none")]);
  });

  test("doctor reports figures that are far behind, and no others", async () => {
    const doctor = async () => (await cli("doctor")).stdout;
    expect(await doctor()).not.toMatch(/^\w+ +figures /m);
    await db.query("update org_heads set audit_seq = audit_seq + 40001 where org_id = $1", [org_id]);
    expect(await doctor()).toMatch(
      /^NOTE +figures +the figures of 1 organization are more than 40,000 entries behind/m,
    );
  });
});
