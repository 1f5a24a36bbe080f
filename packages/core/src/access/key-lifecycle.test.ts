import { expect, test } from "vitest";
import { keyState } from "./key-lifecycle.ts";

const expires_us = 1_800_000_000_000_000;

test("a key is valid until the microsecond before its expiry and expired at the very instant", () => {
  expect(keyState({ expires_us, revoked_us: null }, expires_us - 1)).toBe("valid");
  expect(keyState({ expires_us, revoked_us: null }, expires_us)).toBe("expired");
  expect(keyState({ expires_us, revoked_us: null }, expires_us + 1)).toBe("expired");
});

test("revoked beats expired, and counts whatever time the revocation carries", () => {
  expect(keyState({ expires_us, revoked_us: expires_us - 5 }, expires_us + 1)).toBe("revoked");
  expect(keyState({ expires_us, revoked_us: expires_us + 5 }, expires_us - 1)).toBe("revoked");
});
