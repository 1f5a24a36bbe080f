import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { equalInConstantTime, hashApiKey, hashApiKeyText, newApiKey, parseApiKey } from "./api-key.ts";

const vectors: { keys: { key: string; body: string }[] } = JSON.parse(
  readFileSync(new URL("../../../../test/data/api-key-checksum.json", import.meta.url), "utf8"),
);
const base62 = fc.string({ unit: fc.constantFrom(..."0aZ9zAbC7"), minLength: 32, maxLength: 32 });
const environment = fc.constantFrom("live", "shadow", "test");
const scope = fc.constantFrom("org", "agent");

describe("parseApiKey", () => {
  test.each(vectors.keys)("reads the recorded key $key", ({ key, body }) => {
    const [, environment, scope] = body.split("_");
    expect(parseApiKey(key)).toEqual({ environment, scope });
  });

  test("reads back what newApiKey wrote", () => {
    fc.assert(
      fc.property(environment, scope, base62, (env, scp, secret) => {
        const key = newApiKey(env, scp, secret);
        expect(key).toMatch(/^svc_(live|shadow|test)_(org|agent)_[0-9A-Za-z]{38}$/);
        expect(parseApiKey(key)).toEqual({ environment: env, scope: scp });
      }),
    );
  });

  test("detects any single mistyped character", () => {
    const key = newApiKey("live", "org", "x".repeat(32));
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === "q" ? "r" : "q";
      expect(parseApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBeNull();
    }
  });

  test.each([
    "",
    "svc_live_org_",
    "svc_prod_org_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "svc_live_org_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    `svc_live_org_${"\u00e9".repeat(38)}`,
    `svc_live_org_${"a".repeat(100_000)}`,
    ` ${vectors.keys[0]?.key}`,
    `${vectors.keys[0]?.key}\n`,
    vectors.keys[0]?.key.toUpperCase() ?? "",
  ])("refuses %j", (text) => {
    expect(parseApiKey(text)).toBeNull();
  });
});

test("newApiKey refuses a secret that is short or holds an underscore, which would break the split", () => {
  expect(() => newApiKey("live", "org", "a".repeat(31))).toThrow(TypeError);
  expect(() => newApiKey("live", "org", `${"a".repeat(31)}_`)).toThrow(TypeError);
});

test("hashApiKey is SHA-256 of the whole text", () => {
  expect(hashApiKey("abc").toString("hex")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(hashApiKeyText("abc")).toBe(hashApiKey("abc").toString("base64"));
});

test("equalInConstantTime is equality, and does not throw on unequal lengths", () => {
  expect(equalInConstantTime(Buffer.from("ab"), Buffer.from("ab"))).toBe(true);
  expect(equalInConstantTime(Buffer.from("ab"), Buffer.from("ac"))).toBe(false);
  expect(equalInConstantTime(Buffer.from("ab"), Buffer.from("abc"))).toBe(false);
});
