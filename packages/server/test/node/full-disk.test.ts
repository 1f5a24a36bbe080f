import { mkdirSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryDir } from "../../src/testing/database/embedded.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });

/** Starts writing every file and finishes none. */
vi.doMock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  async function writeFile(file: string): Promise<never> {
    await real.writeFile(file, "half of it");
    throw full;
  }
  async function cp(_from: string, to: string): Promise<never> {
    await real.mkdir(to, { recursive: true });
    throw full;
  }
  return { ...real, writeFile, cp };
});
// Reloads the modules with the mock, and again without it for other test files of this process.
vi.resetModules();
const { claim } = await import("../../src/store/embedded-postgres/claim.ts");
const { usableBinaries } = await import("../../src/store/embedded-postgres/usable-binaries.ts");
const { createMailer } = await import("../../src/edge/sign-in/mailer.ts");
vi.doUnmock("node:fs/promises");
vi.resetModules();

test("a failed mail leaves no partial file in the outbox, however often it is retried", async () => {
  const data_dir = await temporaryDir();
  const mailer = createMailer({ smtp_url: null, mail_from: null, data_dir }, silentLog);
  const mail = { to: "a@example.com", subject: "Log in", text: "a link", html: "<p>a link</p>" };
  await expect(mailer.send(mail)).rejects.toBe(full);
  expect(await readdir(join(data_dir, "outbox"))).toEqual([]);
});

test("a claim on the data directory leaves no file", async () => {
  const data_dir = await temporaryDir();
  await expect(claim(data_dir)).rejects.toBe(full);
  expect(await readdir(join(data_dir, "claims"))).toEqual([]);
});

test("a copy of the database's programs leaves nothing of its 58 MB", async () => {
  const [package_dir, data_dir] = [await temporaryDir(), await temporaryDir()];
  const native = join(package_dir, "native");
  const bin_dir = join(native, "bin");
  for (const dir of [bin_dir, join(native, "share")]) mkdirSync(dir, { recursive: true });
  writeFileSync(join(bin_dir, "postgres"), "");
  // Its links cannot be created in place, so it is copied.
  const links = [{ source: "native/lib/a.so.1", target: "native/nowhere/a.so" }];
  writeFileSync(join(native, "pg-symlinks.json"), JSON.stringify(links));
  const copied = usableBinaries({ source: "embedded", bin_dir, version: "1", major: 1 }, null, data_dir);
  await expect(copied).rejects.toThrow("none of");
  expect(await readdir(data_dir)).toEqual([]);
});
