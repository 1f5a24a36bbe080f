import { expect, test } from "vitest";
import { createSealer } from "./sealer.ts";

const sealer = createSealer(Buffer.alloc(32, 7));

test("what is sealed opens again, and never looks the same twice", () => {
  const [one, two] = [sealer.seal("sécret", "org_1 a"), sealer.seal("sécret", "org_1 a")];
  expect(one).not.toBe(two);
  expect(one).not.toContain("cret");
  expect(sealer.open(one, "org_1 a")).toBe("sécret");
  expect(sealer.open(two, "org_1 a")).toBe("sécret");
});

test("moved to another row, changed by a bit, or opened with another key it does not open", () => {
  const sealed = sealer.seal("secret", "org_1 a");
  const bytes = Buffer.from(sealed.slice(3), "base64url");
  bytes[14] = (bytes[14] as number) ^ 1;
  expect(() => sealer.open(sealed, "org_1 b")).toThrow();
  expect(() => sealer.open(`v1.${bytes.toString("base64url")}`, "org_1 a")).toThrow();
  expect(() => createSealer(Buffer.alloc(32, 8)).open(sealed, "org_1 a")).toThrow();
  for (const nothing of ["", "v1.", "v1.AAAA", "plain"]) expect(() => sealer.open(nothing, "org_1 a")).toThrow();
});
