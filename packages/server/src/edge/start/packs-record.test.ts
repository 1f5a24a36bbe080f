import { mkdir, mkdtemp, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadPacks } from "./pack-files.ts";
import { packsAndProgram, readPacksRecord, writePacksRecord } from "./packs-record.ts";
import { recordPacks } from "./record-packs.ts";

const packs = [{ name: "one" }];
const files = {
  "packs/one/pack.yaml": "title: One",
  "packs/one/policies/a.yaml": "effect: block",
  "packages/cli/dist/program/countersign.js": "1",
  "packages/cli/dist/program/chunk-ABC.js": "2",
  "packages/core/dist/decide.js": "3",
};

async function built() {
  const root = `${await mkdtemp(join(tmpdir(), "packs-record-"))}/`;
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return { root, write };
}

describe("the record of the packs", () => {
  test("is valid while packs and program are the same", async () => {
    const { root, write } = await built();
    expect(readPacksRecord(root)).toBeNull();
    writePacksRecord(packsAndProgram(root), packs, root);
    expect(readPacksRecord(root)).toEqual(packs);
    await write("packs/one/pack.yaml", files["packs/one/pack.yaml"]);
    await write("packages/core/dist/decide.js", "what is not run");
    expect(readPacksRecord(root)).toEqual(packs);
  });

  test.each([
    ["a policy", "packs/one/policies/a.yaml"],
    ["the program", "packages/cli/dist/program/chunk-ABC.js"],
    ["a new case file", "packs/one/cases.jsonl"],
    ["a new pack", "packs/two/pack.yaml"],
    ["the record itself", "packages/cli/dist/packs.json"],
  ])("is invalid after a change of %s", async (_what, name) => {
    const { root, write } = await built();
    writePacksRecord(packsAndProgram(root), packs, root);
    await write(name, "something else");
    expect(readPacksRecord(root)).toBeNull();
  });

  test("is invalid after a file is deleted or moved to another folder", async () => {
    const { root, write } = await built();
    writePacksRecord(packsAndProgram(root), packs, root);
    await unlink(join(root, "packs/one/policies/a.yaml"));
    expect(readPacksRecord(root)).toBeNull();
    await write("packs/one/a.yaml", files["packs/one/policies/a.yaml"]);
    expect(readPacksRecord(root)).toBeNull();
  });

  test("preserves our packs completely", async () => {
    const { root } = await built();
    const ours = [...(await loadPacks()).packs.values()];
    expect(ours.length).toBeGreaterThan(10);
    writePacksRecord(packsAndProgram(root), ours, root);
    expect(readPacksRecord(root)).toStrictEqual(ours);
  });

  test("is not written if packs changed during their check", async () => {
    const { root, write } = await built();
    const of = packsAndProgram(root);
    await write("packages/cli/dist/program/countersign.js", "built again meanwhile");
    writePacksRecord(of, packs, root);
    expect(readPacksRecord(root)).toBeNull();
  });

  test.each([
    ["a pack has no files", (root: string) => mkdir(join(root, "packs/two"))],
    ["an editor has a file open", (root: string) => symlink("somebody@host.1:2", join(root, "packs/.#pack.yaml"))],
    ["the build is not ours to write to", (root: string) => mkdir(join(root, "packages/cli/dist/packs.json"))],
  ])("does not exist if %s, and the build continues: the start reports the problem", async (_what, spoil) => {
    const { root } = await built();
    await rm(join(root, "packs/one"), { recursive: true });
    await spoil(root);
    await recordPacks(root);
    expect(readPacksRecord(root)).toBeNull();
  });

  test("is written by the build", async () => {
    const { root } = await built();
    await rm(join(root, "packs/one"), { recursive: true });
    await recordPacks(root);
    expect(readPacksRecord(root)).toEqual([]);
  });
});
