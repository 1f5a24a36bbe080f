import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openMasterKeys } from "../../edge/start/master-key.ts";
import { temporaryDir } from "../../testing/database/embedded.ts";
import { openCluster } from "../embedded-postgres/cluster.ts";
import { makeDataDir } from "./data-directory.ts";
import { StartRefused } from "./start-refused.ts";

const users: [string, (data_dir: string) => Promise<unknown>][] = [
  ["the embedded database", openCluster],
  ["the master key", (data_dir) => openMasterKeys({ data_dir, master_key: null, other_master_keys: [] })],
];

describe.each(users)("a data directory for %s", (_title, use) => {
  test.each<readonly [string, string]>([
    ["a file", "file"],
    ["below a file", "file/data"],
    ["a link to nothing", "link"],
    ["below a link to nothing", "link/data"],
    ...(process.platform === "linux" ? [["in /proc", "/proc/countersign/data"] as const] : []),
  ])("that is %s is refused with one line that names the setting", async (_title, place) => {
    const dir = await temporaryDir();
    await writeFile(join(dir, "file"), "");
    await symlink(join(dir, "nowhere"), join(dir, "link"));
    const data_dir = place.startsWith("/") ? place : join(dir, place);
    const refused = use(data_dir);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(/^COUNTERSIGN_DATA_DIR="[^\n]+": expected a directory, or a path [^\n]+$/);
    await expect(refused).rejects.toThrow(JSON.stringify(data_dir));
  });
});

test("is created with its parents and mode 0700, also by concurrent starts; an existing one is unchanged", async () => {
  const dir = await temporaryDir();
  const data_dir = join(dir, "above", "data");
  await Promise.all(Array.from({ length: 10 }, () => makeDataDir(data_dir)));
  for (const made of [join(dir, "above"), data_dir]) expect((await stat(made)).mode & 0o777).toBe(0o700);
  const open = join(dir, "open");
  await mkdir(open, { mode: 0o755 });
  await symlink(open, join(dir, "link"));
  await makeDataDir(join(dir, "link"));
  expect((await stat(open)).mode & 0o777).toBe(0o755);
});
