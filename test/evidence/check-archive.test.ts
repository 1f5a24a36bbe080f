/** Go reads an evidence archive and checks it, because it shares no code with this service. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openZip } from "../../packages/cli/src/evidence/zip-reader.ts";
import { createZip } from "../../packages/cli/src/evidence/zip-writer.ts";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();

const goEnvironment = { ...process.env, GOPATH: "/usr/share/gocode", GO111MODULE: "off" };
const packages = ["golang.org/x/mod/sumdb/tlog", "golang.org/x/mod/sumdb/note"];
const hasGo = spawnSync("go", ["list", ...packages], { env: goEnvironment }).status === 0;

/** More entries than one tile has. */
const decisions = 300;

/** Writes the archive again, with another content of one file, and with its manifest as it was. */
async function changed(path: string, into: string, name: string, change: (text: string) => string): Promise<void> {
  const zip = await openZip(path);
  await rm(into, { force: true });
  const other = createZip(into);
  for (const each of zip.names) {
    const bytes = await zip.bytes(each, 1 << 28);
    await other.add(each, each === name ? change(bytes.toString()) : bytes);
  }
  await other.finish();
  zip.close();
}

test.skipIf(!hasGo)(
  "Go accepts manifest, checkpoint, receipts and completeness of an archive, and refuses a changed file",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "countersign-archive-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { url } = await serviceNode(database);
    const of = await reviewedOrganization(database.db, url);
    for (let n = 0; n < decisions; n += 50) {
      const intents = Array.from({ length: 50 }, () => heldBody);
      expect((await call(url, "POST", "/v1/intents/batch", { key: of.agent, body: { intents } })).status).toBe(200);
    }
    const archive = join(folder, "archive.zip");
    const args = ["evidence", "--from", "2026-01-01", "--output", archive, "--url", url];
    expect(await runCli(args, { COUNTERSIGN_API_KEY: of.operator })).toMatchObject({ code: 0 });
    const { keys } = (await call(url, "GET", "/v1/audit/log/key", { key: of.operator })).json;
    await writeFile(join(folder, "keys"), `${keys[0].verifier_key}\n`);
    const program = join(folder, "check-archive");
    execFileSync("go", ["build", "-o", program, join(import.meta.dirname, "check-archive/main.go")], {
      env: goEnvironment,
    });
    const check = (path: string) => spawnSync(program, [path, join(folder, "keys")], { encoding: "utf8" });
    const said = new RegExp(
      `^\\d+ files have the hashes of the manifest\\n${decisions} receipts hold under checkpoint \\d+\\nno entry from 0 to \\d+ is missing\\n$`,
    );
    const accepted = check(archive);
    expect(accepted, accepted.stderr).toMatchObject({ status: 0, stdout: expect.stringMatching(said) });
    const other = join(folder, "other.zip");
    await changed(archive, other, "records/audit.jsonl", (text) => text.replace('"entry":200', '"entry":201'));
    expect(check(other)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("has another hash than the manifest"),
    });
  },
);
