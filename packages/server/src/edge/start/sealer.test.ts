import { describe, expect, test } from "vitest";
import { remembering } from "../../operations/shared/sealer.ts";
import { createSealer, masterKeyId } from "./sealer.ts";

const [key_a, key_b, key_c] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];
const sealer = createSealer(key_a);

test("a sealed text opens again, differs each time, hides the text and names its key", () => {
  const [one, two] = [sealer.seal("sécret", "org_1 a"), sealer.seal("sécret", "org_1 a")];
  expect(one).not.toBe(two);
  expect(one).not.toContain(Buffer.from("sécret").toString("base64url"));
  expect(one.startsWith(`v2.${masterKeyId(key_a)}.`)).toBe(true);
  expect(one.startsWith(sealer.prefix)).toBe(true);
  expect(sealer.open(one, "org_1 a")).toBe("sécret");
  expect(sealer.open(two, "org_1 a")).toBe("sécret");
  expect(sealer.open(sealer.seal("", "c"), "c")).toBe("");
});

test("another context, another key or a changed byte prevents opening", () => {
  const sealed = sealer.seal("secret", "org_1 a");
  const [version, key_id, data = ""] = sealed.split(".");
  const bytes = Buffer.from(data, "base64url");
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
  expect(() => sealer.open(sealed, "org_1 b")).toThrow("changed, or belongs to something else");
  expect(() => sealer.open(`${version}.${key_id}.${bytes.toString("base64url")}`, "org_1 a")).toThrow("was changed");
  expect(() => createSealer(key_b).open(sealed, "org_1 a")).toThrow(
    `sealed with the master key ${masterKeyId(key_a)}, which is not set here (COUNTERSIGN_OTHER_MASTER_KEYS)`,
  );
  const nothings = [
    "",
    "v1.",
    "v1.AAAA",
    "v2",
    "v2..",
    `v2.${key_id}`,
    `v2.${key_id}.`,
    `${sealed}.x`,
    "v3.a.b",
    "plain",
  ];
  for (const nothing of nothings) {
    expect(() => sealer.open(nothing, "org_1 a"), nothing).toThrow();
    expect(sealer.openedBy(nothing, "org_1 a")).toBeNull();
  }
});

test("a text with another key's name opens with neither key, even if both are set", () => {
  const both = createSealer(key_a, [key_b]);
  const renamed = sealer.seal("secret", "c").replace(masterKeyId(key_a), masterKeyId(key_b));
  expect(() => both.open(renamed, "c")).toThrow();
});

test("the first key seals, and the others open what they sealed", () => {
  const ring = createSealer(key_c, [key_b, key_a]);
  expect([ring.key_id, ...ring.other_key_ids]).toEqual([key_c, key_b, key_a].map(masterKeyId));
  expect(ring.openedBy(ring.seal("x", "c"), "c")).toBe(masterKeyId(key_c));
  for (const former of [key_a, key_b, key_c]) {
    const sealed = createSealer(former).seal("x", "c");
    expect(ring.open(sealed, "c")).toBe("x");
    expect(ring.openedBy(sealed, "c")).toBe(masterKeyId(former));
    expect(ring.openedBy(sealed, "d")).toBeNull();
  }
  expect(createSealer(key_b, [key_a]).openedBy(ring.seal("x", "c"), "c")).toBeNull();
});

test("nodes that differ only in the order of their keys open each other's texts", () => {
  const [one, two] = [createSealer(key_a, [key_b]), createSealer(key_b, [key_a])];
  expect(two.open(one.seal("x", "c"), "c")).toBe("x");
  expect(one.open(two.seal("y", "c"), "c")).toBe("y");
});

test("a key's name is 16 hex digits that do not reveal the key", () => {
  expect(masterKeyId(key_a)).toMatch(/^[0-9a-f]{16}$/);
  expect(masterKeyId(key_a)).not.toBe(masterKeyId(key_b));
  expect(key_a.toString("hex")).not.toContain(masterKeyId(key_a));
});

describe("remembering", () => {
  test("opens a text once, each in its own context, and never opens an unreadable one", () => {
    const opened: string[] = [];
    const open = (sealed: string, context: string) => {
      opened.push(context);
      return sealer.open(sealed, context);
    };
    const quick = remembering({ ...sealer, open });
    const [first, second] = [quick.seal("one", "a"), quick.seal("two", "b")];
    for (let time = 0; time < 3; time += 1)
      expect([quick.open(first, "a"), quick.open(second, "b")]).toEqual(["one", "two"]);
    expect(opened).toEqual(["a", "b"]);
    for (let time = 0; time < 2; time += 1) expect(() => quick.open(first, "b")).toThrow();
    expect(opened).toEqual(["a", "b", "b", "b"]);
  });

  test("forgets a text that was not opened for a long time", () => {
    let opens = 0;
    const quick = remembering({
      seal: (text) => text,
      open: (sealed) => {
        opens += 1;
        return sealed;
      },
    });
    for (let n = 0; n < 257; n += 1) quick.open(`${n}`, "");
    quick.open("256", "");
    expect(opens).toBe(257);
    quick.open("0", "");
    expect(opens).toBe(258);
  });
});
