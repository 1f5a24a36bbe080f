import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkDataDir } from "./machine.ts";

test.each([
  ["file", "problem"],
  ["file/data", "problem"],
  ["link", "problem"],
  ["link/data", "problem"],
  [".", "ok"],
  ["new/data", "ok"],
])("a data directory at %s: %s", async (place, state) => {
  const dir = await mkdtemp(join(tmpdir(), "countersign-doctor-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, "file"), "");
  await symlink(join(dir, "nowhere"), join(dir, "link"));
  expect(await checkDataDir({ data_dir: join(dir, place) })).toMatchObject({ check: "data directory", state });
});
