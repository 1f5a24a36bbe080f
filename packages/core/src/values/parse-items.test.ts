import { limits } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fault } from "../fault.ts";
import { parseItems } from "./parse-items.ts";

const items_max = 50;

/** `turns` counts the pauses for other work. */
function read(text: string | Buffer) {
  const steps = parseItems(Buffer.from(text), "intents", items_max);
  for (let turns = 0; ; turns += 1) {
    const step = steps.next();
    if (step.done === true) return { ...step.value, turns };
  }
}

function codeOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

const spaces = fc.constantFrom("", " ", "\n\t", "  \r\n");

describe("a list", () => {
  test("has the same value as with JSON.parse, for any text around it", () => {
    const member = fc.tuple(
      fc.string().filter((name) => name !== "intents" && name !== "__proto__"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.option(member), spaces, (items, beside, space) => {
        const parts = [
          `"intents"${space}:${space}[${items.map((item) => space + JSON.stringify(item) + space).join(",")}${space}]`,
          ...(beside === null ? [] : [`${JSON.stringify(beside[0])}:${JSON.stringify(beside[1])}`]),
        ];
        for (const members of [parts, parts.toReversed()]) {
          const text = `${space}{${space}${members.join(`${space},${space}`)}}${space}`;
          const inexact = codeOf(() => read(text));
          expect(inexact).toBe(null);
          expect(read(text).value).toEqual(JSON.parse(text));
        }
      }),
    );
  });

  test.each([
    ['{"intents":[1,]}'],
    ['{"intents":[,1]}'],
    ['{"intents":[1}'],
    ['{"intents":[1'],
    ['{"intents":[1]'],
    ['{"intents":[{"a":1]}'],
    ['{"intents":[1]]}'],
    ['{"intents":[1 2]}'],
    ['{"intents":[1],"intents":[2]}'],
    ['{"intents":[{"a":1,"a":2}]}'],
    ['{"intents":["\\"]}'],
    [""],
    ['{"intents":[1]} x'],
  ])("in a text that is not JSON is refused as a whole: %s", (text) => {
    expect(codeOf(() => read(text))).toBe("invalid_json");
  });

  test.each([['{"intents":{}}'], ["[1]"], ['{"other":[1]}'], ['{"\\u0069ntents":[1]}'], ['{"intents":[]}']])(
    "that is missing or whose name has escapes is read as any body is: %s",
    (text) => {
      expect(read(text).value).toEqual(JSON.parse(text));
    },
  );

  test("has as many items as allowed, and not one more", () => {
    const text = (items: number) => `{"intents":[${Array.from({ length: items }, () => "{}").join()}]}`;
    expect(read(text(items_max)).value).toEqual(JSON.parse(text(items_max)));
    expect(codeOf(() => read(text(items_max + 1)))).toBe("invalid_request");
  });
});

describe("an item", () => {
  const withItem = (item: string) => read(`{"intents":[{"a":1},${item}]}`);
  const second = ({ value, examine }: ReturnType<typeof read>) => {
    const { intents } = value as { intents: readonly unknown[] };
    expect(examine(intents[0])).toEqual([]);
    return () => examine(intents[1]);
  };

  test("has as many values as a body, and one with more fails alone", () => {
    const values = (count: number) => `[${Array.from({ length: count - 2 }, () => "1").join()}]`;
    expect(second(withItem(values(limits.json_values_max)))()).toEqual([]);
    expect(codeOf(second(withItem(values(limits.json_values_max + 3))))).toBe("payload_too_large");
  });

  test("may be as large as a body without white space, and a larger one fails alone", () => {
    const sized = (bytes: number, space = "") => `{"a":"${"x".repeat(bytes - 8)}"${space}}`;
    expect(second(withItem(sized(limits.body_bytes_max, " ".repeat(1_000))))()).toEqual([]);
    expect(codeOf(second(withItem(sized(limits.body_bytes_max + 1))))).toBe("payload_too_large");
  });

  test("with a value that must not be stored is reported with the place in the item", () => {
    expect(second(withItem('{"b":"\\u0000"}'))()).toMatchObject([{ path: "/b", code: "forbidden_character" }]);
  });
});

test("other work can run between the items of a large list, and a small one is read at once", () => {
  const item = JSON.stringify({ text: "x".repeat(10_000) });
  expect(read(`{"intents":[${Array.from({ length: 50 }, () => item).join()}]}`).turns).toBe(24);
  expect(read(`{"intents":[{},{},{}]}`).turns).toBe(0);
});
