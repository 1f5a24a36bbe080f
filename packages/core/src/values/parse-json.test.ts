import { limits } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseInParts, parseJson } from "./parse-json.ts";

const parse = (text: string | Buffer) => parseJson(Buffer.from(text));
function faultOf(text: string | Buffer) {
  try {
    parse(text);
  } catch (error) {
    const { code, details } = error as { code: string; details: { path: string; code: string }[] };
    return { code, places: details.map((detail) => `${detail.path} ${detail.code}`) };
  }
  return null;
}

describe("parseJson", () => {
  test("returns the same as JSON.parse for every text without forbidden values", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 20 }), (text) => {
        fc.pre(!/\\u0000|\\ud[89a-f]|__proto__/i.test(text));
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ["nothing", ""],
    ["two texts", "{}{}"],
    ["a byte order mark", "\ufeff{}"],
    ["single quotes", "{'a':1}"],
    ["33 levels", `${"[".repeat(33)}${"]".repeat(33)}`],
    ["33 levels of objects", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`],
    ["a megabyte of brackets", "[".repeat(1_000_000)],
  ])("refuses %s as invalid_json", (_name, text) => {
    expect(faultOf(text)?.code).toBe("invalid_json");
  });

  test.each([
    ['{"a":1,"a":1}', '"a"'],
    ['[{"b":[{"a":1}],"c":{"a":{},"\\u0061":":"},"d":1}]', '"\\u0061"'],
    [`{${'"long":{'.repeat(30)}"x":1,"x" :\n2${"}".repeat(31)}`, '"x"'],
    ['{"__proto__":1,"__proto__":2}', '"__proto__"'],
    [`{"text":"${"\\\\".repeat(4_000_000)}","text":""}`, '"text"'],
  ])("refuses a name that occurs twice in one object: %.40s", (text, name) => {
    let message: unknown;
    try {
      parse(text);
    } catch (error) {
      message = (error as { details: { message: string }[] }).details[0]?.message;
    }
    expect(faultOf(text)?.code).toBe("invalid_json");
    expect(message).toBe(`Use each name of an object once: ${name} occurs twice.`);
  });

  test("accepts a name in objects beside and within each other, and colons in strings", () => {
    const text = '[{"a":{"a":":","b":{"a":"\\":{"}}},{"a":"a\\\\"},{"A":1,"a":2,"1":3,"01":4,"":5}]';
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test("accepts 32 levels, and brackets in strings do not count", () => {
    expect(faultOf(`${"[".repeat(32)}${"]".repeat(32)}`)).toBeNull();
    expect(faultOf(`["${"[".repeat(50_000)}\\"${"{".repeat(50_000)}"]`)).toBeNull();
  });

  test("names the place of everything forbidden, escaped as a JSON Pointer", () => {
    const text = '{"a/b":{"x":"\\u0000"},"~":["\\ud800"],"__proto__":{"y":1},"n":1e400,"k":{"\\udfff":1}}';
    expect(faultOf(text)).toEqual({
      code: "invalid_request",
      places: [
        "/a~1b/x forbidden_character",
        "/~0/0 forbidden_character",
        "/__proto__ forbidden_key",
        "/n not_a_number",
        "/k forbidden_character",
      ],
    });
  });

  test("a key spelt __proto__ with escapes is the same key", () => {
    expect(faultOf('{"__proto_\\u005f":1}')?.places).toEqual(["/__proto__ forbidden_key"]);
  });

  test.each([
    ["9007199254740991", true],
    ["9007199254740992", true],
    ["9007199254740993", false],
    ["-9007199254740991", true],
    ["-9007199254740993", false],
    ["12345678901234567891", false],
    ["999999999999999900000", true],
    ["999999999999999999999", false],
    ["1234567890123456789012", false],
    ["1e16", true],
    ["1e21", true],
    ["1.5e300", true],
    ["9007199254740990.5", false],
    ["4503599627370497.75", false],
    ["100.10", true],
    ["-0", true],
    ["1e-400", false],
  ])("a number that a double cannot represent exactly is refused at its place: %s", (text, taken) => {
    const fault = { code: "invalid_request", places: ["/n/0 out_of_range", '/é/" out_of_range'] };
    const body = `{"n":[${text}, "${text}"],"é":{"\\"":${text}},"m":[12345678901234567000,1.0,true,false,null]}`;
    expect(faultOf(body)).toEqual(taken ? null : fault);
  });

  test("a text with a number of many digits is refused as JSON if it would be with another number", () => {
    for (const text of ["01234567890123456789012", "1234567890123456789012.", "-", "[1234567890123456789012 1]"])
      expect(faultOf(text)?.code).toBe("invalid_json");
  });

  test("names at most 50 places", () => {
    expect(faultOf(`[${Array.from({ length: 1_000 }, () => "1e999").join()}]`)?.places).toHaveLength(50);
  });
});

describe("parseInParts", () => {
  const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const parsed = (text: string) => parseInParts(Buffer.from(text), 1_000);

  test.each([
    "{}",
    '{"a":{"x":"\\u0000"}}',
    '["\\ud800",1e400]',
    '["a",9007199254740993]',
    '{"__proto__":1}',
    nested(32),
    nested(33),
    nested(1_000),
  ])("reports for a value what parseJson reports for its text: %.40s", (text) => {
    let found: ReturnType<typeof faultOf> = null;
    try {
      const { value, examine } = parsed(text);
      const places = examine(value).map(({ path, code }) => `${path} ${code}`);
      if (places.length > 0) found = { code: "invalid_request", places };
    } catch (error) {
      found = { code: (error as { code: string }).code, places: [" bad_format"] };
    }
    expect(found).toEqual(faultOf(text));
  });

  test("a large text with too many levels is refused before parsing", () => {
    const text = (levels: number) => `["${"x".repeat(20_000)}",${nested(levels - 1)}]`;
    expect(() => parsed(text(1_000))).not.toThrow();
    expect(() => parsed(text(1_001))).toThrow("invalid_json");
  });

  test("the number of values in a text is limited; commas and brackets in strings do not count", () => {
    const text = (values: number) => `[${"1,".repeat(values - 3)}1,",,[[{{"]`;
    expect(() => parsed(text(limits.json_values_max - 1))).not.toThrow();
    expect(() => parsed(text(limits.json_values_max))).not.toThrow();
    expect(() => parsed(text(limits.json_values_max + 1))).toThrow("payload_too_large");
    expect(() => parsed(`[${"{},".repeat(limits.json_values_max)}1]`)).toThrow("payload_too_large");
  });
});
