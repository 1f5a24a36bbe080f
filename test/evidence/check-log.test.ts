/** Go's checksum database checks what this service signs, because it shares no code with it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Tile, tilePath, tileWidth } from "../../packages/core/src/log/tiles.ts";
import { createClient } from "../../packages/sdk/src/index.ts";
import { createClock } from "../../packages/server/src/edge/clock.ts";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { auditRow } from "../../packages/server/src/store/audit/audit.ts";
import { inclusionProof } from "../../packages/server/src/store/log/read-proofs.ts";
import { withHead } from "../../packages/server/src/store/organizations/heads.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
const ids = createIds(createClock());

const goPath = "/usr/share/gocode";
const goEnvironment = { ...process.env, GOPATH: goPath, GO111MODULE: "off" };
const hasGo =
  spawnSync("go", ["list", "golang.org/x/mod/sumdb/tlog", "golang.org/x/mod/sumdb/note"], { env: goEnvironment })
    .status === 0;

const change = () =>
  auditRow(ids, {
    ...{ intent_id: null, type: "key_revoked", actor: "usr_1", at: "2026-11-28T12:00:00.000000Z" },
    data: { name: "Prüfer" },
  });

/** Writes what a reader of the log fetches: the files that the Go program reads. */
async function fetchLog(folder: string) {
  const { url } = await serviceNode(database);
  const of = await reviewedOrganization(db, url, { packs: [] });
  const { org_id } = of.org;
  const client = createClient({ base_url: url, api_key: of.operator });
  const covers = async (entries: number) => {
    await expect
      .poll(async () => Number((await client.getLogCheckpoint()).split("\n")[1]))
      .toBeGreaterThanOrEqual(entries);
    const note = await client.getLogCheckpoint();
    return { note, size: Number(note.split("\n")[1]) };
  };
  const add = (entries: number) =>
    db.tenant(org_id, (query) => withHead(query, org_id, { audit: Array.from({ length: entries }, change) }));
  const write = async (name: string, data: string | Uint8Array) => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), data);
  };
  await add(300);
  const older = await covers(300);
  await add(400);
  const newest = await covers(700);
  await write("key", (await client.listLogKeys()).map(({ verifier_key }) => `${verifier_key}\n`).join(""));
  await write("older", older.note);
  await write("checkpoint", newest.note);
  const { proof } = await client.getLogConsistency({ from: older.size, to: newest.size });
  await write("consistency.json", JSON.stringify(proof));
  for (const place of [0, 1, 2].map((index) => ({ level: 0, index })).concat({ level: 1, index: 0 })) {
    const tile: Tile = { ...place, width: tileWidth(place, newest.size) };
    await write(`tile/${tilePath(tile)}`, await client.getLogTile(tilePath(tile)));
  }
  const { audit } = await client.listAudit({ limit: 200 });
  const entries = [];
  for (const { entry, leaf } of audit) {
    const hashes = await db.tenant(org_id, (query) => inclusionProof(query, org_id, entry, newest.size));
    entries.push({ index: entry, leaf, proof: hashes.map((hash) => Buffer.from(hash).toString("base64")) });
  }
  await write("receipt.json", JSON.stringify({ checkpoint: newest.note, entries }));
}

test.skipIf(!hasGo)(
  "Go's sumdb/note and sumdb/tlog accept checkpoint, consistency, tiles and inclusion, and no forged byte",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "countersign-log-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await fetchLog(folder);
    const program = join(folder, "check-log");
    const source = join(import.meta.dirname, "check-log/main.go");
    execFileSync("go", ["build", "-o", program, source], { env: goEnvironment });
    const check = () => spawnSync(program, [folder], { encoding: "utf8" });
    expect(check()).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^checkpoint \d+ extends checkpoint \d+\nthe tiles have the root of checkpoint \d+\n200 entries are included\n$/,
      ),
    });
    for (const name of ["key", "checkpoint", "older", "consistency.json", "tile/0/001", "receipt.json"]) {
      const bytes = await readFile(join(folder, name));
      const forged = Buffer.from(bytes);
      // The end of a tile, because the program reads what the receipt needs.
      const at = name.startsWith("tile") ? bytes.length - 1 : Math.floor(bytes.length / 2);
      forged[at] = (forged[at] as number) ^ 1;
      await writeFile(join(folder, name), forged);
      expect([name, check().status]).toEqual([name, 1]);
      await writeFile(join(folder, name), bytes);
    }
  },
);
