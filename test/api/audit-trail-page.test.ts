/** Runs the script of docs/how-to/audit-trail.md. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openClient } from "../../packages/server/src/store/database/connection.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call, testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";

const folder = mkdtempSync(join(tmpdir(), "audit-trail-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const script = join(folder, "verify-trail.mjs");
const page = readFileSync(new URL("../../docs/how-to/audit-trail.md", import.meta.url), "utf8");
writeFileSync(script, /```js\n(.*?)```/s.exec(page)?.[1] ?? "");

const { db, connection } = await testDatabase();
let url: string;
let org_id: string;
let admin: string;
let auditor: string;
beforeAll(async () => {
  ({ url } = await serviceNode({ db, connection, analyze: async () => {} }));
  const org = await testOrganization(db);
  ({ org_id } = org);
  admin = (await org.key()).api_key;
  auditor = (await org.key({ role: "auditor" })).api_key;
  const intent = {
    agent: { id: 'é"' },
    action: { verb: "look" },
    payload: { content: { n: 1e21, m: -0.5, t: "\u2028" } },
  };
  for (let n = 0; n < 3; n += 1)
    await call(url, "POST", "/v1/intents/batch", { key: admin, body: { intents: Array(50).fill({ intent }) } });
});

/** Runs the script in a thread. Returns the exit code and the last line of output. */
async function verify(key = auditor, noted?: string): Promise<{ code: number; line: string }> {
  const env = { ...process.env, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key };
  const argv = noted === undefined ? [] : [noted];
  const thread = new Worker(script, { env, argv, stdout: true, stderr: true });
  const [[code], stdout, stderr] = await Promise.all([once(thread, "exit"), text(thread.stdout), text(thread.stderr)]);
  return { code, line: (stdout + stderr).trimEnd().split("\n").at(-1) ?? "" };
}

/** Changes the trail as the table's owner, calls `look`, and restores it. */
async function tampered(statements: readonly string[], look: () => Promise<void>): Promise<void> {
  const owner = await openClient(connection, "owner");
  const run = async (...all: readonly string[]) => {
    for (const statement of all) await owner.query(statement);
  };
  await run("set app.org = '*'", "create temporary table kept as table ledger");
  await run(...statements.map((statement) => statement.replace(" where ", ` where org_id = '${org_id}' and `)));
  try {
    await look();
  } finally {
    await run("delete from ledger", "insert into ledger table kept");
    await owner.end();
  }
}

const stored = async () => (await call(url, "GET", "/v1/audit?limit=1", { key: auditor })).json.audit[0];

describe("the script of docs/how-to/audit-trail.md", () => {
  test("prints a value to note for an intact trail, and confirms an earlier value as the trail grows", async () => {
    const { seq, root } = await stored();
    expect(seq).toBeGreaterThan(300);
    const first = await verify();
    expect(first).toEqual({ code: 0, line: `${seq}:${root}` });
    await call(url, "POST", "/v1/membranes", { key: admin, body: { name: "later" } });
    expect(await verify(auditor, first.line)).toEqual({ code: 0, line: expect.stringMatching(`^${seq + 1}:`) });
    expect((await verify(auditor, `${seq}:${"1".repeat(64)}`)).line).toMatch(/is not in this trail: it was cut/);
  });

  test.each([
    ["a changed entry", ["update ledger set data = '{}' where seq = 2"], /^the entry of record 2 was changed$/],
    [
      "a changed entry with a hash that fits",
      [
        "update ledger set data = '{}' where seq = 2",
        "update ledger l set hash = ledger_hash(ledger_leaf(l)) where seq = 2",
      ],
      /^the chain is broken at record \d+$/,
    ],
    [
      "a changed decision",
      ["update ledger set intent = '{}' where type = 'decided'"],
      /^the entry of record \d+ was changed$/,
    ],
    ["a removed entry", ["delete from ledger where seq = 2"], /^record 2 is missing$/],
    ["a changed root", ["update ledger set root = sha256('') where seq = 2"], /is broken at record 2$/],
    ["a removed root", ["update ledger set root = null where seq = 2"], /^the chain is broken at record \d+$/],
    ["no newest root", ["update ledger set root = null where seq > 2"], /^the newest records have no root$/],
    ["a cut", ["delete from ledger where seq > 2"], /not in this trail/],
  ])("finds %s", async (_, statements, told) => {
    const { seq, root } = await stored();
    const noted = `${seq}:${root}`;
    await tampered(statements, async () => {
      expect(await verify(auditor, noted)).toEqual({ code: 1, line: expect.stringMatching(told) });
    });
    expect(await stored()).toMatchObject({ seq, root });
  });

  test("gives the reason if the key may not read the trail", async () => {
    const { api_key } = await (await testOrganization(db)).key({ role: "agent" });
    expect(await verify(api_key)).toEqual({ code: 1, line: expect.stringContaining("forbidden") });
  });
});
