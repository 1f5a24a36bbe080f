import { hash, verify } from "@node-rs/argon2";
import { expect, test } from "vitest";
import { cheapPasswords } from "../../testing/people/passwords.ts";
import { createPasswords } from "./passwords.ts";

const cheap = { memoryCost: 8, timeCost: 1 };

test("the service hashes with Argon2id, 19 MiB and 2 passes", async () => {
  const passwords = createPasswords();
  const hashed = await passwords.hash("pässwörd 🗝");
  expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify(hashed, "pässwörd 🗝")).toBe(true);
});

test("a password matches its own hash, another does not, and the hash for unknown addresses matches nothing", async () => {
  const passwords = cheapPasswords();
  const hashed = await passwords.hash("pässwörd 🗝");
  expect(await passwords.verify(hashed, "pässwörd 🗝")).toBe(true);
  expect(await passwords.verify(hashed, "password")).toBe(false);
  expect(await passwords.verify(null, "nobody's")).toBe(false);
  expect(await passwords.hash("pässwörd 🗝")).not.toBe(hashed);
});

test("a letter is the same from every keyboard: composed, or with a separate accent", async () => {
  const passwords = cheapPasswords();
  const [composed, apart] = ["pässwörd", "pässwörd"].map((text, n) => text.normalize(n === 0 ? "NFC" : "NFD"));
  expect(composed).not.toBe(apart);
  expect(await passwords.verify(await passwords.hash(composed as string), apart as string)).toBe(true);
  expect(await passwords.verify(await passwords.hash(apart as string), composed as string)).toBe(true);
});

test("requests beyond the queue are refused at once, and earlier ones are answered", async () => {
  const passwords = cheapPasswords();
  const results = await Promise.allSettled(Array.from({ length: 110 }, () => passwords.hash("x")));
  const refused = results.filter((each) => each.status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(10);
  for (const { reason } of refused)
    expect(reason).toMatchObject({ code: "overloaded", headers: { "retry-after": "5" } });
});

test("an unknown address waits for a comparison, too, so the time of an answer does not reveal it", async () => {
  const compared: string[] = [];
  const passwords = createPasswords(cheap, {
    hash,
    verify: (hashed, ...rest) => {
      compared.push(hashed as string);
      return verify(hashed, ...rest);
    },
  });
  expect(await passwords.verify(null, "x")).toBe(false);
  const known = await passwords.hash("y");
  expect(await passwords.verify(known, "x")).toBe(false);
  const cost = (hashed: string | undefined) => hashed?.split("$").slice(0, 4);
  expect(compared).toHaveLength(2);
  expect(cost(compared[0])).toEqual(cost(compared[1]));
});

test("a hundred hashes use two of the process's four threads, so file reads and name lookups do not wait", async () => {
  const begun: (() => void)[] = [];
  const passwords = createPasswords(cheap, {
    hash: () => new Promise((resolve) => begun.push(() => resolve("hashed"))),
    verify,
  });
  const hashing = Promise.all(Array.from({ length: 100 }, () => passwords.hash("x")));
  // The next hash starts in the turn in which the previous one ends.
  for (let ended = 0; ended < 100; ended += 1) {
    await new Promise(setImmediate);
    expect(begun).toHaveLength(Math.min(ended + 2, 100));
    begun[ended]?.();
  }
  expect(await hashing).toHaveLength(100);
});

test("after a failure, the hash for unknown addresses is computed again", async () => {
  let tries = 0;
  const passwords = createPasswords(cheap, {
    hash: (...given) => (++tries === 1 ? Promise.reject(new Error("no memory")) : hash(...given)),
    verify,
  });
  await expect(passwords.verify(null, "x")).rejects.toThrow("no memory");
  expect(await passwords.verify(null, "x")).toBe(false);
  expect(tries).toBe(2);
});
