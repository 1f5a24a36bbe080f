import { cp, mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDir } from "../../testing/database/embedded.ts";
import { StartRefused } from "../database/start-refused.ts";
import { claim } from "./claim.ts";

describe("a claim on a data directory", () => {
  test("is refused while another live process holds it, and the refusal names that process", async () => {
    const dir = await temporaryDir();
    const held = await claim(dir);
    const second = claim(dir);
    await expect(second).rejects.toThrow(StartRefused);
    await expect(second).rejects.toThrow(`${dir} is in use by process ${process.pid}`);
    await held.release();
    await (await claim(dir)).release();
    expect(await readdir(join(dir, "claims"))).toEqual([]);
  });

  test("is given to at most one of many concurrent processes, and to a later one after them", async () => {
    const dir = await temporaryDir();
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => claim(dir)));
    const winners = asked.filter((result) => result.status === "fulfilled");
    expect(winners.length).toBeLessThanOrEqual(1);
    for (const winner of winners) await winner.value.release();
    await (await claim(dir)).release();
  });

  test("does not apply to a copy of the directory, but still applies after a move or under another name", async () => {
    const home = await temporaryDir();
    const [dir, copy, link, moved] = [join(home, "data"), join(home, "copy"), join(home, "link"), join(home, "moved")];
    await mkdir(dir);
    const held = await claim(dir);
    await cp(dir, copy, { recursive: true });
    const copied = await claim(copy);
    await expect(claim(copy)).rejects.toThrow(`${copy} is in use by process ${process.pid}`);
    await copied.release();
    await symlink(dir, link);
    await expect(claim(link)).rejects.toThrow(`is in use by process ${process.pid}`);
    await rename(dir, moved);
    await expect(claim(moved)).rejects.toThrow(`is in use by process ${process.pid}`);
    await rename(moved, dir);
    await held.release();
  });

  test("is taken over from a dead process, from another process with a dead one's number, and from half-written files", async () => {
    const dir = await temporaryDir();
    await mkdir(join(dir, "claims"));
    await writeFile(join(dir, "claims", "1"), JSON.stringify({ pid: 2 ** 22 + 1, started: "1" }));
    await writeFile(join(dir, "claims", "2"), JSON.stringify({ pid: process.ppid, started: "another start" }));
    await writeFile(join(dir, "claims", "3"), "");
    const held = await claim(dir);
    expect(await readdir(join(dir, "claims"))).toHaveLength(1);
    await held.release();
  });
});
