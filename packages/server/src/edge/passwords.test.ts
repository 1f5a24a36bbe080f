import { expect, test } from "vitest";
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

test("more than can be hashed in time are refused at once, and those before them are answered", async () => {
  const passwords = createPasswords();
  const results = await Promise.allSettled(Array.from({ length: 110 }, () => passwords.hash("x")));
  const refused = results.filter((each) => each.status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(10);
  for (const { reason } of refused)
    expect(reason).toMatchObject({ code: "overloaded", headers: { "retry-after": "5" } });
});
