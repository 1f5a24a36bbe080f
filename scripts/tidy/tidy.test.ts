import { describe, expect, it } from "vitest";
import { circleFindings } from "./circles.ts";
import { constantFindings } from "./constants.ts";
import { functionFindings, longFunctions } from "./functions.ts";
import { codeOnly, importsOf } from "./scan.ts";
import { fileFindings, findingText, folderFindings, repositoryFindings } from "./tidy.ts";

const rulesOf = (path: string, source: string) => fileFindings(path, source).map(({ rule, line }) => `${rule}:${line}`);
const importing = (specifier: string) => `import { x } from "${specifier}";\n`;

describe("import walls", () => {
  it.each([
    ["packages/contract/src/a.ts", "@countersign/core"],
    ["packages/contract/src/a.ts", "@countersign/cel"],
    ["packages/cel/src/a.ts", "@countersign/contract"],
    ["packages/core/src/a.ts", "@countersign/server"],
    ["packages/core/src/facts/a.ts", "../../../server/src/store/database/db.ts"],
    ["packages/core/src/a.ts", "@countersign/contract/src/ids.ts"],
    ["packages/server/src/store/a.ts", "../operations/submit-intent.ts"],
    ["packages/server/src/store/a.ts", "../edge/clock.ts"],
    ["packages/server/src/operations/a.ts", "../http/faults.ts"],
    ["packages/server/src/operations/a.ts", "../worker/mails.ts"],
    ["packages/server/src/http/a.ts", "../worker/mails.ts"],
    ["packages/server/src/http/routes/a.ts", "../../edge/clock.ts"],
    ["packages/server/src/worker/a.ts", "../http/server.ts"],
    ["packages/server/src/ports.ts", "./store/db.ts"],
    ["packages/server/src/store/a.ts", "@countersign/server"],
    ["packages/server/src/store/a.ts", "../testing/database.ts"],
    ["packages/core/src/a.ts", "./a.test.ts"],
    ["packages/sdk/src/a.ts", "@countersign/core"],
    ["packages/mcp/src/a.ts", "@countersign/core"],
    ["packages/mcp/src/a.ts", "@countersign/sdk/tool-gate"],
    ["packages/core/src/a.ts", "@countersign/sdk/ai-sdk"],
    ["packages/console/src/a.tsx", "@countersign/server"],
    ["packages/core/src/a.ts", "./time"],
  ])("%s may not import %s", (path, specifier) => {
    expect(rulesOf(path, importing(specifier))).toEqual(["wall:1"]);
  });

  it.each([
    ["packages/core/src/a.ts", "@countersign/contract"],
    ["packages/core/src/a.ts", "@countersign/cel"],
    ["packages/core/src/facts/a.ts", "../time.ts"],
    ["packages/server/src/store/a.ts", "../ports.ts"],
    ["packages/server/src/http/routes/a.ts", "../../operations/submit-intent.ts"],
    ["packages/server/src/edge/main.ts", "../http/server.ts"],
    ["packages/server/src/index.ts", "./edge/main.ts"],
    ["packages/cli/src/a.ts", "@countersign/server"],
    ["packages/sdk/src/a.ts", "@countersign/contract"],
    ["packages/mcp/src/a.ts", "@countersign/sdk"],
    ["packages/mcp/src/a.ts", "@countersign/sdk/ai-sdk"],
    ["packages/server/src/http/a.test.ts", "../testing/database.ts"],
    ["packages/server/src/store/a.test.ts", "../operations/submit-intent.ts"],
    ["sim/a.ts", "../../packages/server/src/store/database/db.ts"],
    ["packages/server/src/http/a.ts", "find-my-way"],
  ])("%s may import %s", (path, specifier) => {
    expect(rulesOf(path, importing(specifier))).toEqual([]);
  });

  it.each([
    ['import type { X } from "../http/server.ts";'],
    ['export * from "../http/server.ts";'],
    ['import "../http/server.ts";'],
    ['const app = await import("../http/server.ts");'],
    ['import {\n  a,\n  b,\n} from "../http/server.ts";'],
  ])("every form of import counts: %s", (source) => {
    expect(fileFindings("packages/server/src/store/a.ts", source).map(({ rule }) => rule)).toEqual(["wall"]);
  });
});

describe("SQL", () => {
  const found = (source: string, path = "packages/server/src/operations/a.ts") => rulesOf(path, source);

  it.each([
    'query("select a from b where c = $1");',
    "query(`\n  select a,\n    b\n  from c`);",
    'query("insert into a values (1)");',
    'query("update a set b = 1");',
    'query("delete from a");',
  ])("%j is found outside the store", (source) => {
    expect(found(source)).toEqual([expect.stringMatching(/^sql:1$/)]);
    expect(found(source, "packages/server/src/store/a.ts")).toEqual([]);
  });

  it.each(['say("update it");', "// reads `select a from b`"])("%j is not SQL, or is in a comment", (source) => {
    expect(found(source)).toEqual([]);
  });
});

describe("privileges of the edge", () => {
  const inCore = (source: string) => rulesOf("packages/core/src/a.ts", source);

  it.each([
    ["const t = Date.now();", "clock:1"],
    ["\nconst t = new Date();", "clock:2"],
    ["const t = Date();", "clock:1"],
    ["const t = performance.now();", "clock:1"],
    ["const r = Math.random();", "random:1"],
    ["const r = randomUUID();", "random:1"],
    ["const e = process.env.HOME;", "environment:1"],
    ["const e = `${process.env.HOME}`;", "environment:1"],
    ["setTimeout(run, 5);", "timer:1"],
    ['import { readFileSync } from "node:fs";', "pure:1"],
    ['import pg from "pg";', "sql:1"],
  ])("%j is found in core", (source, finding) => {
    expect(inCore(source)).toEqual([finding]);
  });

  it.each([
    "const d = new Date(0);",
    "// Date.now() and process.env",
    "/* Math.random() */",
    'const text = "Date.now()";',
    "const text = `new Date() ${1 + 1} Math.random()`;",
    "const pattern = /process.env/;",
    'import { createHash } from "node:crypto";',
    "clock.setTimeout(run, 5);",
  ])("%j is not", (source) => {
    expect(inCore(source)).toEqual([]);
  });

  it.each([
    "packages/server/src/edge/a.ts",
    "packages/cli/src/a.ts",
    "packages/core/src/a.test.ts",
    "bench/a.ts",
    "sim/a.ts",
  ])("%s may", (path) => {
    expect(rulesOf(path, "Date.now(); Math.random(); process.env.X; setTimeout(run, 5);")).toEqual([]);
  });
});

describe("house rules", () => {
  it("default exports are refused, except in configs", () => {
    expect(rulesOf("packages/core/src/a.ts", "export default 1;")).toEqual(["default-export:1"]);
    expect(rulesOf("vitest.config.ts", "export default 1;")).toEqual([]);
  });
  it("a status of 400 or more is set in http/answer/faults.ts only", () => {
    expect(rulesOf("packages/server/src/http/a.ts", "reply.code(404);")).toEqual(["status:1"]);
    expect(rulesOf("packages/server/src/http/a.ts", "reply.code(201);")).toEqual([]);
    expect(rulesOf("packages/server/src/http/answer/faults.ts", "reply.code(404);")).toEqual([]);
  });
  it("code from text is refused", () => {
    expect(rulesOf("packages/cel/src/a.ts", 'new Function("1"); eval("1");')).toEqual(["eval:1", "eval:1"]);
  });
  it("tests may not use .only and may not sleep", () => {
    const source = 'it.only("x", () => {});\nawait new Promise((resolve) => setTimeout(resolve, 50));\n';
    expect(rulesOf("packages/core/src/a.test.ts", source)).toEqual(["only:1", "sleep:2"]);
  });
  it("file names describe the content, in kebab-case", () => {
    for (const name of ["utils.ts", "helpers.ts", "types.ts", "common.ts", "MyFile.ts", "my_file.ts"]) {
      expect(rulesOf(`packages/core/src/${name}`, ""), name).toEqual(["name:0"]);
    }
    for (const name of ["fact-types.ts", "a.test.ts", "vitest.config.ts"]) {
      expect(rulesOf(`packages/core/src/${name}`, ""), name).toEqual([]);
    }
  });
  it("400 lines are the limit", () => {
    expect(rulesOf("packages/core/src/a.ts", "\n".repeat(400))).toEqual([]);
    expect(rulesOf("packages/core/src/a.ts", "\n".repeat(401))).toEqual(["size:0"]);
  });
  it("files of Python have the same limits, and names in snake_case", () => {
    expect(rulesOf("clients/python/a_b.py", "\n".repeat(401))).toEqual(["size:0"]);
    expect(rulesOf("clients/python/a-b.py", "")).toEqual(["name:0"]);
    expect(rulesOf("clients/python/utils.py", "")).toEqual(["name:0"]);
    const body = (lines: number) => `def long(\n    a: int,\n) -> None:\n${"    a += 1\n\n".repeat(lines)}`;
    const source = `class A:\n    pass\n\n${body(40)}\ndef short() -> None:\n    pass\n`;
    expect(longFunctions("a.py", source)).toEqual([{ name: "long", line: 4, lines: 82 }]);
    expect(longFunctions("a.py", body(33))).toEqual([]);
  });
  it("20 source files in a folder are the limit, and tests are not counted", () => {
    const paths = (count: number) => Array.from({ length: count }, (_, index) => `packages/core/src/a${index}.ts`);
    expect(folderFindings([...paths(20), "packages/core/src/a.test.ts", "packages/core/src/deciding/a.ts"])).toEqual(
      [],
    );
    expect(folderFindings(paths(21))).toEqual([expect.objectContaining({ path: "packages/core/src", rule: "folder" })]);
  });
  it("each finding has its place, its rule, and what to write instead", () => {
    const [finding] = fileFindings("packages/core/src/a.ts", "Date.now();");
    expect(finding && findingText(finding)).toBe(
      "packages/core/src/a.ts:1 [clock] Date.now: time comes from the Clock port (or as a parameter now_us in core)",
    );
  });
});

describe("long functions", () => {
  const body = (lines: number) => `{${"\n".repeat(lines - 1)}}\n`;
  const path = "packages/core/src/a.ts";
  const found = (source: string, exceptions: { path: string; name: string; lines: number }[] = []) =>
    functionFindings([{ path, source }], exceptions).map(({ message }) => message);

  it.each([
    [`function f(): { a: 1 } | undefined ${body(71)}`, "f"],
    [`const f = (): void => ${body(71)}`, "f"],
    [`const o = { f() ${body(71)}};`, "f"],
    [`class C { f() ${body(71)}}`, "f"],
    [`run(() => ${body(71)});`, "line 1"],
  ])("%j is found by its name", (source, name) => {
    expect(longFunctions(path, source)).toEqual([{ name, line: 1, lines: 71 }]);
  });

  it("70 lines are the limit", () => {
    expect(found(`function f() ${body(70)}`)).toEqual([]);
    expect(found(`function f() ${body(71)}`)).toEqual([expect.stringContaining("f has 71 lines; at most 70")]);
  });

  it("an exception may not grow, and must be updated when its function shrinks", () => {
    const source = `function f() ${body(80)}`;
    expect(found(source, [{ path, name: "f", lines: 80 }])).toEqual([]);
    expect(found(source, [{ path, name: "f", lines: 79 }])).toEqual([expect.stringContaining("grown from 79 to 80")]);
    expect(found(source, [{ path, name: "f", lines: 81 }])).toEqual([expect.stringContaining("shrunk to 80")]);
    expect(found("", [{ path, name: "f", lines: 80 }])).toEqual([expect.stringContaining("within the limit")]);
  });
});

describe("import circles", () => {
  const room = "packages/server/src/store";
  const found = (...files: [name: string, source: string][]) =>
    circleFindings(files.map(([name, source]) => ({ path: `${room}/${name}`, source }))).map(({ path }) => path);

  it.each([
    [
      "directly",
      [
        ["a.ts", importing("./b.ts")],
        ["b.ts", importing("./a.ts")],
      ],
    ],
    [
      "by a type",
      [
        ["a.ts", 'import type { B } from "./b.ts";'],
        ["b.ts", importing("./a.ts")],
      ],
    ],
    [
      "by a module in another folder",
      [
        ["a.ts", importing("./c/b.ts")],
        ["c/b.ts", importing("./d.ts")],
        ["c/d.ts", importing("../a.ts")],
      ],
    ],
  ] satisfies [string, [string, string][]][])("one that closes %s is found", (_, files) => {
    expect(found(...files)).toEqual([`${room}/a.ts`]);
  });

  it("two imports of one module are not a circle, and test code is excluded", () => {
    const below: [string, string][] = [
      ["a.ts", importing("./c.ts")],
      ["b.ts", importing("./a.ts") + importing("./c.ts")],
      ["c.ts", ""],
    ];
    expect(found(...below)).toEqual([]);
    expect(found(["a.ts", importing("./a.test.ts")], ["a.test.ts", importing("./a.ts")])).toEqual([]);
  });
});

describe("the casing of constants", () => {
  const found = (source: string) => constantFindings("packages/core/src/a.ts", source).map(({ message }) => message);

  it.each([
    "const wait_ms = 5;",
    "export const mask = `***`;",
    "const waits_ms = [1, 2];",
    "const textFields = { a: 1 } as const;",
    "const fieldName = /a/;",
    "export const BOOL = { kind: 1 };",
    "const Person = Type.Object({});",
  ])("%j is accepted", (source) => {
    expect(found(source)).toEqual([]);
  });

  it.each([
    ["const waitMs = 5;", "waitMs: numbers and texts are snake_case"],
    ["export const MASK = '***';", "MASK: numbers and texts are snake_case"],
    ["const text_fields = { a: 1 } as const;", "text_fields: objects, lists, patterns and functions are camelCase"],
    ["const field_name = /a/;", "field_name: objects, lists, patterns and functions are camelCase"],
  ])("%j is refused", (source, message) => {
    expect(found(source)).toEqual([message]);
  });
});

describe("reading code as text", () => {
  it("keeps the place of every character", () => {
    const source = 'a("//"); // x\nb(/["/]/g, \'"\'); /* y\n */ c(`t ${d("}")} /* ${`n ${e}`}`) / 2 / f;\n';
    const code = codeOnly(source);
    expect(code).toHaveLength(source.length);
    expect(code.split("\n")).toHaveLength(source.split("\n").length);
    expect(code.replaceAll(/\s+/g, "")).toBe('a("");b(//g,\'\');c(`${d("")}${`${e}`}`)/2/f;'.replace("//g", "/g"));
  });
  it("an import in a template is text", () => {
    const source = 'const snippet = `import { x } from "./y.ts";`;\nimport { z } from "./z.ts";\n';
    expect(importsOf(source, codeOnly(source))).toEqual([{ specifier: "./z.ts", line: 2 }]);
  });
  it("also ends on broken code", () => {
    for (const source of ["`", "`${", '"', "/*", "/", "'\n`${`", "${}}}}"])
      expect(codeOnly(source)).toHaveLength(source.length);
  });
});

it("the repository is tidy", () => {
  expect(repositoryFindings().findings.map(findingText)).toEqual([]);
});
