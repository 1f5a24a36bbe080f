import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryDir } from "../../testing/embedded.ts";
import { StartRefused } from "../start-refused.ts";
import { claim } from "./claim.ts";

describe("a claim on a data directory", () => {
  test("is refused while another live process holds it, naming that process", async () => {
    const dir = await temporaryDir();
    const held = await claim(dir);
    const second = claim(dir);
    await expect(second).rejects.toThrow(StartRefused);
    await expect(second).rejects.toThrow(`${dir} is in use by process ${process.pid}`);
    await held.release();
    await (await claim(dir)).release();
    expect(await readdir(join(dir, "claims"))).toEqual([]);
  });

  test("goes to at most one of many that ask at once, and to one who asks after them", async () => {
    const dir = await temporaryDir();
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => claim(dir)));
    const winners = asked.filter((result) => result.status === "fulfilled");
    expect(winners.length).toBeLessThanOrEqual(1);
    for (const winner of winners) await winner.value.release();
    await (await claim(dir)).release();
  });

  test("is taken over from a dead process, from another process under a dead one's number, and from half-written files", async () => {
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
