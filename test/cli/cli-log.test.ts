import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("log consistency accepts a kept checkpoint that the log extends, also after a new key, and no other", async () => {
  const of = await reviewedOrganization(database.db, url, { packs: [] });
  const folder = await mkdtemp(join(tmpdir(), "countersign-log-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const run = (...args: string[]) => runCli(["log", ...args, "--url", url], { COUNTERSIGN_API_KEY: of.admin });
  const sizeOf = (note: string) => Number(note.split("\n")[1]);
  const entries = async () => {
    const [head] = await database.db.query<{ n: number }>("select max(entries) as n from org_heads where org_id = $1", [
      of.org.org_id,
    ]);
    return head?.n;
  };
  await expect.poll(async () => sizeOf((await run("checkpoint")).stdout)).toBe(await entries());
  const kept = join(folder, "kept.txt");
  const { stdout: note } = await run("checkpoint");
  await writeFile(kept, note);
  const [, key = ""] = /^(\S+\+\S+) /m.exec((await run("keys")).stdout) ?? [];
  const rotated = await run("rotate-key", "--overlap-days", "0");
  expect([rotated.code, rotated.stdout]).toEqual([
    0,
    expect.stringMatching(/^countersign\/org_\w+\+[0-9a-f]{8}\+\S{44}\n$/),
  ]);
  await expect.poll(async () => sizeOf((await run("checkpoint")).stdout)).toBe(await entries());
  const both = ["--key", key, rotated.stdout.trim()];
  const { code, stdout } = await run("consistency", kept, ...both);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^consistent: \d+ entries, of which \d+ are unchanged/)]);

  const other = join(folder, "other.txt");
  await writeFile(other, note.replace(/\n\d+\n/, "\n1\n"));
  for (const [args, said] of [
    [[kept, "--key", key], "the newest checkpoint has no valid signature"],
    [[other, ...both], "other.txt has no valid signature"],
    [[kept, "--key", "x"], "--key takes a verifier key"],
    [[join(folder, "none.txt"), ...both], "cannot be read"],
  ] as const) {
    const refused = await run("consistency", ...args);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(said)]);
  }
});
