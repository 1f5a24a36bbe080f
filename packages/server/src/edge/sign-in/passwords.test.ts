import { stat } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { createPasswords } from "./passwords.ts";

test("a password fits its own hash, another does not, and nobody's hash fits nothing", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("pässwörd 🗝");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify(hash, "pässwörd 🗝")).toBe(true);
  expect(await passwords.verify(hash, "password")).toBe(false);
  expect(await passwords.verify(null, "nobody's")).toBe(false);
  expect(await passwords.hash("pässwörd 🗝")).not.toBe(hash);
});

test("a letter is the same from whichever keyboard: composed, or with its accent apart", async () => {
  const passwords = createPasswords();
  const [composed, apart] = ["pässwörd", "pässwörd"].map((text, n) => text.normalize(n === 0 ? "NFC" : "NFD"));
  expect(composed).not.toBe(apart);
  expect(await passwords.verify(await passwords.hash(composed as string), apart as string)).toBe(true);
  expect(await passwords.verify(await passwords.hash(apart as string), composed as string)).toBe(true);
});

test("more than can be hashed in time are refused at once, and those before them are answered", async () => {
  const passwords = createPasswords();
  const results = await Promise.allSettled(Array.from({ length: 110 }, () => passwords.hash("x")));
  const refused = results.filter((each) => each.status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(10);
  for (const { reason } of refused)
    expect(reason).toMatchObject({ code: "overloaded", headers: { "retry-after": "5" } });
});

test("whose address is unknown waits for a comparison too: nobody hears of it sooner", async () => {
  const passwords = createPasswords();
  await passwords.verify(null, "the first makes what the others are compared with");
  let answered = false;
  const verifying = passwords.verify(null, "x").finally(() => {
    answered = true;
  });
  // No hash comes back without a turn of the event loop; an answer that needs none does.
  for (let n = 0; n < 100; n += 1) await Promise.resolve();
  expect(answered).toBe(false);
  expect(await verifying).toBe(false);
});

test("a hundred hashes leave threads to others: looks at files, and names that the system looks up, do not wait behind them", async () => {
  const passwords = createPasswords();
  let hashed = 0;
  const hashing = Array.from({ length: 100 }, () => passwords.hash("x").then(() => (hashed += 1)));
  await new Promise(setImmediate);
  for (let n = 0; n < 90; n += 1) await stat(".");
  // Two or so; where hashes take all four, each look costs one of them, and nearly all are done first (measured).
  expect(hashed).toBeLessThan(60);
  await Promise.all(hashing);
});

test("what unknown addresses are compared with is made again where it could not be made: nobody is refused for good", async () => {
  let tries = 0;
  vi.doMock("@node-rs/argon2", async (original) => {
    const real = await original<typeof import("@node-rs/argon2")>();
    const hash = (...given: Parameters<typeof real.hash>) =>
      ++tries === 1 ? Promise.reject(new Error("no memory")) : real.hash(...given);
    return { ...real, hash };
  });
  // Loaded anew for this test, and again for those of other files, which may share this process.
  vi.resetModules();
  const passwords = (await import("./passwords.ts")).createPasswords();
  vi.doUnmock("@node-rs/argon2");
  vi.resetModules();
  await expect(passwords.verify(null, "x")).rejects.toThrow("no memory");
  expect(await passwords.verify(null, "x")).toBe(false);
  expect(tries).toBe(2);
});
