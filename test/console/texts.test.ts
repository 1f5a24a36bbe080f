import { errorCodes, hiddenCharacter } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { adviceOn } from "../../packages/console/src/api/advice.ts";
import {
  changedLines,
  diffLines,
  jsonLines,
  patchBetween,
  sameJson,
} from "../../packages/console/src/parts/records/json-lines.ts";
import { editableJson, textParts } from "../../packages/console/src/parts/visible-text.ts";
import { marksOf, readText, textOf } from "../../packages/console/src/policies/document-text.ts";
import { wordsAfter } from "../../packages/console/src/policies/vocabulary.ts";
import { whatDiffers } from "../../packages/console/src/review/what-differs.ts";
import { domainFunctions } from "../../packages/core/src/functions/index.ts";
import { applyPatch, checkPolicy } from "../../packages/core/src/index.ts";
import { policySchema, type Schema } from "../../packages/core/src/policy/schema.ts";

describe("texts of strangers", () => {
  test("never keep hidden, reordering or control characters, and lose no others", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }).map((text) => text.replaceAll("\\", "/")),
        (text) => {
          const shown = textParts(text, false)
            .map((part) => part.text)
            .join("");
          expect(shown.replaceAll(/ |\ufe0f/g, "")).not.toMatch(
            /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u,
          );
          const plain = text.replaceAll(/[^A-Za-z0-9]/g, "");
          expect(
            shown.replaceAll(/\\u(?:\{[0-9a-f]+\}|[0-9a-f]{4})|\\[ntr]/g, "").replaceAll(/[^A-Za-z0-9]/g, ""),
          ).toBe(plain);
        },
      ),
    );
  });

  test("show every format, ignorable and space character except U+0020 as an escape", () => {
    const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Z}\u2800]/u;
    for (let code = 0x21; code <= 0x10ffff; code += 1) {
      const char = String.fromCodePoint(code);
      if (invisible.test(char))
        expect(textParts(`pay${char}pal`, false).map(({ text }) => text)).toEqual([
          "pay",
          `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`,
          "pal",
        ]);
    }
  });

  test("show the spaces of a blank text as escapes, because a link of spaces is invisible", () => {
    const shown = (text: string, lines = false) => textParts(text, lines).map((part) => part.text);
    expect(shown("  ")).toEqual(["\\u0020", "\\u0020"]);
    expect(shown(" \n ", true)).toEqual(["\\u0020", "\n", "\\u0020"]);
    expect(shown("  a  b ")).toEqual(["  a  b "]);
    expect(shown("")).toEqual([]);
  });

  test.each([
    ["a heart in colour", "\u2764\ufe0f"],
    ["a key", "1\ufe0f\u20e3"],
    ["an emoji of itself", "\u{1f600}"],
  ])("keep %s as it is", (_, text) => {
    expect(textParts(text, false)).toEqual([{ text, hides: null }]);
  });

  test.each([
    ["a letter", "a\ufe0f", "a"],
    ["a digit", "1\ufe0f", "1"],
    ["nothing", "\ufe0f", ""],
    ["an emoji of itself", "\u{1f600}\ufe0f", "\u{1f600}"],
    ["another selector", "\u2764\ufe0f\ufe0f", "\u2764\ufe0f"],
  ])("show a selector of emojis after %s as an escape", (_, text, before) => {
    expect(
      textParts(text, false)
        .map((part) => part.text)
        .join(""),
    ).toBe(`${before}\\ufe0f`);
  });

  test("are shown in a JSON field without hidden or reordering characters, and are saved unchanged", () => {
    expect(editableJson({ to: "a\u202eb\u{e0041}\\\u200b", "k\u2066": "\u2764\ufe0f" })).toBe(
      '{\n  "to": "a\\u202eb\\udb40\\udc41\\\\\\u200b",\n  "k\\u2066": "\u2764\ufe0f"\n}',
    );
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const text = editableJson(value);
        expect(text.replaceAll(/[ \n]|\ufe0f/g, "")).not.toMatch(hiddenCharacter);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("keep their line breaks in multi-line places", () => {
    expect(textParts("a\nb\u202ec", true).map(({ text }) => text)).toEqual(["a\nb", "\\u202e", "c"]);
  });
});

test.each([
  [429, "rate_limit_exceeded", 42, "Nothing was changed. Try again in 42 seconds."],
  [429, "rate_limit_exceeded", 1, "Nothing was changed. Try again in a few seconds."],
  [503, "overloaded", 5, "Nothing was changed. Try again in 5 seconds."],
  [503, "unavailable", 20, "Try again in 20 seconds. If the problem persists, tell the operator."],
])("a refusal of %i %s promises no retry, and names the time once: %i s", (status, code, seconds, todo) => {
  const fields = { status, code, message: "", details: [], request_id: null, retry_after_seconds: seconds };
  expect(adviceOn(new ApiError(fields)).todo).toBe(todo);
});

test.each([
  [409, "state_conflict", "last_admin", "The last admin stays", /meantime|new state/],
  [409, "state_conflict", "no_name", "There are no passkeys at this address", /meantime|new state/],
  [409, "already_exists", "address_taken", "This address has an account here already", /another name/],
  [404, "not_found", "link_over", "This link is no longer valid", /the list/],
  [403, "forbidden", "not_vouched_for", "Your organization's sign-in does not let you in", /role/],
  [401, "invalid_credentials", "not_through", "You are not signed in", /typed/],
  [503, "unavailable", "provider", "Your organization's sign-in does not answer", /database|operator/],
])("explains a refusal of %i %s for %s", (status, code, detail, title, never) => {
  const details = [{ path: "", code: detail, message: "The reason." }];
  const fields = { status, code, message: "", details, request_id: null, retry_after_seconds: null };
  const advice = adviceOn(new ApiError(fields));
  expect(advice.title).toBe(title);
  expect(advice.todo).toMatch(/(?:^|\. )The reason\.$/);
  expect(advice.todo).not.toMatch(never);
});

test("no advice to a person mentions fields or addresses of the API", () => {
  // Codes that only programs get: the console sends only JSON, and only documents that it made.
  const apart = ["invalid_json", "invalid_context", "unknown_event_type", "idempotency_conflict"];
  const programs = [...apart, "invalid_agent_token", "method_not_allowed", "unsupported_media_type"];
  for (const [code, { status, meaning, advice }] of Object.entries(errorCodes)) {
    if (programs.includes(code)) continue;
    const message = `${meaning} ${advice}`;
    const error = new ApiError({ status, code, message, details: [], request_id: null, retry_after_seconds: null });
    const { title, todo } = adviceOn(error);
    expect(`${title} ${todo}`, code).not.toMatch(/`|GET|POST|JSON|details/);
  }
});

test("explains a proxy's answer as such, and does not blame the sender", () => {
  for (const status of [200, 403, 502, 504]) {
    const none = { details: [], request_id: null, retry_after_seconds: null };
    const { title, todo } = adviceOn(new ApiError({ ...none, status, code: `http_${status}`, message: "Bad Gateway" }));
    expect(title).toBe("A proxy answered instead of the service");
    expect(todo).toContain(`${status}: your request may have been done or not`);
  }
});

test("the patch between any two documents turns one into the other, by the service's own rules", () => {
  const json = fc.dictionary(
    fc.string(),
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value))),
  );
  const plain = json.filter((value) => !JSON.stringify(value).includes("__proto__"));
  fc.assert(
    fc.property(plain, plain, (before, after) => {
      const steps = patchBetween(before, after).map((step) => ({ ...step }));
      const patched = applyPatch(before, steps as never);
      expect(patched.ok && patched.document).toEqual(after);
    }),
  );
});

test.each([
  [
    "removed",
    [1, 2, 3, 4],
    [1, 4],
    [
      { op: "remove", path: "/a/2" },
      { op: "remove", path: "/a/1" },
    ],
  ],
  ["added", [1, 4], [1, 2, 4], [{ op: "add", path: "/a/1", value: 2 }]],
  ["added at the end", [1], [1, 2], [{ op: "add", path: "/a/1", value: 2 }]],
  ["removed, of equal ones", [{ s: "[masked]" }, { s: "[masked]" }], [{ s: "[masked]" }], null],
  ["removed and changed", [1, 2, 3], [1, 4], null],
])("entries that are %s are so in the patch, and an ambiguous list is replaced", (_, a, b, steps) => {
  expect(patchBetween({ a }, { a: b })).toEqual(steps ?? [{ op: "replace", path: "/a", value: b }]);
});

test("every line and every change of a value is shown, however long it is", () => {
  const long = { amount: 5, lines: Array.from({ length: 6_000 }, (_, n) => n), recipient: "the last" };
  expect(jsonLines(long).at(-2)).toMatchObject({ key: "recipient", text: '"the last"' });
  const changed = diffLines(long, { ...long, recipient: "another" }).filter(({ sign }) => sign !== "same");
  expect(changed.map(({ sign, text }) => [sign, text])).toEqual([
    ["removed", '"the last"'],
    ["added", '"another"'],
  ]);
});

test("a long difference shows only changes with their surroundings, and counts the rest", () => {
  const rows = Array.from({ length: 300 }, (_, n) => ({ n, to: { iban: `DE${n}` } }));
  const after = rows.map((row) => (row.n === 250 ? { ...row, to: { iban: "XX", bic: "Y" } } : row));
  const lines = changedLines(diffLines({ first: 1, rows, last: 2 }, { first: 1, rows: after, last: 3 }));
  expect(lines.map(({ depth, key, text, sign }) => [depth, key, text, sign])).toEqual([
    [0, null, "{", "same"],
    [1, null, "… 1 unchanged", "same"],
    [1, "rows", "[", "same"],
    [2, null, "… 1500 unchanged", "same"],
    [2, null, "{", "same"],
    [3, null, "… 1 unchanged", "same"],
    [3, "to", "{", "same"],
    [4, "iban", '"DE250"', "removed"],
    [4, "iban", '"XX"', "added"],
    [4, "bic", '"Y"', "added"],
    [3, null, "}", "same"],
    [2, null, "}", "same"],
    [1, null, "… 294 unchanged", "same"],
    [1, null, "]", "same"],
    [1, "last", "2", "removed"],
    [1, "last", "3", "added"],
    [0, null, "}", "same"],
  ]);
  const random = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(random, random, (before, other) => {
      const every = diffLines([before, other], [before, before]);
      const shown = changedLines(every);
      const changed = (list: typeof shown) => list.filter(({ sign }) => sign !== "same");
      expect(changed(shown)).toEqual(changed(every));
    }),
  );
});

test("equal actions differ in nothing, and all others in something", () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)));
  const some = fc.array(json, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(some, fc.boolean(), (values, twice) => {
      const all = twice ? values.flatMap((value) => [value, structuredClone(value)]) : values;
      const differences = whatDiffers(new Map(all.map((value, n) => [String(n), value])));
      const same = all.every((value) => sameJson(value, all[0]));
      for (const n of all.keys()) expect(differences.get(String(n))?.places.length === 0).toBe(same);
    }),
  );
  const pay = { to: { iban: "DE1" }, lines: [1, 2] };
  const other = { lines: [1], to: { iban: "DE2" } };
  expect(
    Object.fromEntries(
      whatDiffers(
        new Map([
          ["a", pay],
          ["b", other],
        ]),
      ),
    ),
  ).toEqual({
    a: {
      places: [
        { path: "/to/iban", text: '"DE1"' },
        { path: "/lines/1", text: "2" },
      ],
      elsewhere: 0,
    },
    b: {
      places: [
        { path: "/to/iban", text: '"DE2"' },
        { path: "/lines/1", text: null },
      ],
      elsewhere: 0,
    },
  });
});

describe("policies as text", () => {
  test.each(["*.transfer", "*transfer", "*_x"])("a name without an anchor is marked at its place: %s", (name) => {
    const text = `spec:\n  match:\n    actions: [${name}]\n`;
    expect(readText(text)).toEqual({
      marks: [
        {
          severity: "error",
          from: text.indexOf("*"),
          to: text.indexOf("*") + 1,
          message: expect.stringMatching(/Quote a text/),
        },
      ],
    });
  });

  test.each([
    "[".repeat(600),
    "[".repeat(60_000),
    `a:\n  ${"- ".repeat(20_000)}`,
    '{"a":'.repeat(20_000),
    `${" ".repeat(600)}a: 1`,
  ])("that nest too deeply are reported, and leave the page unchanged", (text) => {
    expect(readText(text)).toEqual({
      marks: [{ severity: "error", from: 0, to: text.length, message: "The document is nested too deeply." }],
    });
  });

  test("report invalid YAML in words for policy authors", () => {
    const first = (text: string) => {
      const read = readText(text);
      return "marks" in read ? read.marks[0]?.message : null;
    };
    expect(first("a: 1\n---\nb: 1\n")).toBe("A second document begins here. Write each policy into its own file.");
    expect(first('when: "a" == params.x')).toMatch(/in single quotes, or on its own line below \|-\.$/);
  });

  const document = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "a", title: "A" },
    spec: {
      match: { actions: ["other.a"] },
      variables: [{ name: "limit", expr: "facts.organizational.delegation_limit_usd" }],
      when: 'params.to == "x" && params.amount > vars.limt',
      effect: "block",
      message: "No",
    },
  };

  const underlined = (text: string) => {
    const read = readText(text);
    if (!("policy" in read)) throw new Error("no YAML");
    const [mark] = marksOf(text, read.policy, checkPolicy(read.policy).diagnostics, "error");
    return text.slice(mark?.from, mark?.to);
  };

  test("survive conversion to text and back unchanged", () => {
    const read = readText(textOf(document));
    expect("policy" in read && read.policy).toEqual(document);
  });

  test("with comments are recognized, because the service does not keep comments", () => {
    const text = textOf(document);
    expect(readText(text)).toMatchObject({ has_comments: false });
    const changed = [
      `# first\n${text}`,
      `${text}# last\n`,
      text.replace("spec:", "spec: # why"),
      text.replace("  when", "  # why\n  when"),
    ];
    for (const each of changed) expect(readText(each)).toMatchObject({ has_comments: true });
    expect(readText(text.replace("No", '"No # sign"'))).toMatchObject({ has_comments: false });
  });

  test.each([
    ["plain", textOf(document)],
    ["JSON", JSON.stringify(document, null, 2)],
    [
      "a block of lines",
      textOf(document).replace(/ {2}when: .*/, '  when: |-\n    params.to == "x" &&\n      params.amount > vars.limt'),
    ],
  ])("are marked at the wrong word, written as %s", (_, text) => {
    expect(underlined(text)).toBe("limt");
  });

  test("that are not YAML are marked where parsing ends", () => {
    expect(readText("a: [1\nb: 2")).toHaveProperty("marks");
    expect(readText("just text")).toHaveProperty("marks");
  });

  test("are completed with every function that the engine has", () => {
    const offered = wordsAfter([]).filter(({ kind }) => kind === "function");
    for (const { name } of domainFunctions) expect(offered.map(({ label }) => label)).toContain(name);
    expect(wordsAfter(["facts", "security"]).map(({ label }) => label)).toContain("prompt_injection_detected");
  });

  test("are completed with the words for actions, whole and after a dot, and with own members of objects only", () => {
    const labels = (path: readonly string[]) => wordsAfter(path).map(({ label }) => label);
    expect(labels([])).toEqual(expect.arrayContaining(["payment.transfer", "special_category"]));
    expect(labels(["payment"])).toEqual(["transfer", "charge", "refund"]);
    expect(labels(["action"])).toEqual(["type", "verb"]);
    expect(labels(["constructor"])).toEqual([]);
  });

  test("are completed with every field of the document, and with no other", () => {
    const fields = new Set<string>();
    const look = ({ properties = {}, items }: Schema): void => {
      if (items !== undefined) look(items);
      for (const [name, each] of Object.entries(properties)) {
        fields.add(name);
        look(each);
      }
    };
    look(policySchema);
    const offered = wordsAfter([]).filter(({ kind }) => kind === "field");
    expect(offered.map(({ label }) => label).sort()).toEqual([...fields].sort());
  });
});
