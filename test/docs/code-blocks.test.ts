/** The code blocks of the documentation: each is what its label says, and names only what exists. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { operations } from "@countersign/contract";
import { checkPolicy, runPolicyTests } from "@countersign/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { createProgram } from "../../packages/cli/src/program.ts";
import { processTerminal } from "../../packages/cli/src/terminal.ts";
import { has_frameworks } from "../adapters/run-agent.ts";
import { type CodeBlock, codeBlocks, commandsOf, pages, root } from "./code-blocks.ts";

const blocks = codeBlocks();
const title = ({ path, line }: CodeBlock): string => `${path}:${line}`;
const inLanguage = (...languages: readonly string[]) =>
  blocks.filter(({ language }) => languages.includes(language)).map((block) => [title(block), block] as const);

test("every block names a language that a test knows", () => {
  const known = [
    "sh",
    "console",
    "json",
    "yaml",
    "ts",
    "typescript",
    "js",
    "python",
    "ini",
    "mermaid",
    "nginx",
    "http",
    "text",
  ];
  expect(blocks.length).toBeGreaterThan(50);
  expect(blocks.filter(({ language }) => !known.includes(language)).map(title)).toEqual([]);
});

describe("a JSON block parses", () => {
  test.each(inLanguage("json"))("%s", (_, { text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });
});

/** A policy with the given members in place of the defaults. An excerpt is a `spec`, an `escalation`, or members of `spec`. */
function completed(given: Record<string, unknown>): Record<string, unknown> {
  if (given["kind"] === "Policy") return given;
  const spec = { match: { actions: ["payment.*"] }, when: "true", effect: "escalate", message: "An example." };
  const metadata = { name: "an-example", title: "An example" };
  const { spec: own = given, metadata: named = {} } = given as { spec?: object; metadata?: object };
  return {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { ...metadata, ...named },
    spec: { ...spec, ...own },
  };
}

describe("a YAML block is valid: a policy or an excerpt of one, with green tests, or a manifest of Kubernetes", () => {
  test.each(inLanguage("yaml"))("%s", (_, { text }) => {
    for (const document of parseAllDocuments(text)) {
      expect(document.errors).toEqual([]);
      const given = document.toJS() as Record<string, unknown>;
      if (given["kind"] !== undefined && given["kind"] !== "Policy") continue;
      const { document: policy, diagnostics } = checkPolicy(JSON.stringify(completed(given)));
      expect(diagnostics).toEqual([]);
      if (policy !== null) for (const { mismatches } of runPolicyTests(policy)) expect(mismatches).toEqual([]);
    }
  });
});

/** The page about frameworks, whose packages only the tests of the adapters install. */
const aboutFrameworks = ([, { path }]: readonly [string, CodeBlock]) => path === "docs/how-to/frameworks.md";

/** Returns what the compiler says about the blocks, as files below `node_modules`, so that they find its packages. */
function compiled(node_modules: string, texts: readonly (readonly [string, CodeBlock])[]): string {
  const folder = mkdtempSync(join(root, node_modules, ".docs-blocks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = texts.map(([at, { text }], index) => {
    const file = `block-${index}.ts`;
    writeFileSync(join(folder, file), `// ${at}\n${text}\nexport {};\n`);
    return file;
  });
  const compilerOptions = {
    noEmit: true,
    composite: false,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, files }),
  );
  return spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" }).stdout;
}

test("every TypeScript block compiles against the packages", () => {
  const blocks_without_frameworks = inLanguage("ts").filter((block) => !aboutFrameworks(block));
  expect(compiled("node_modules", blocks_without_frameworks)).toBe("");
});

test.skipIf(!has_frameworks)("every block about a framework compiles (npm ci --prefix test/adapters)", () => {
  const found = inLanguage("ts").filter(aboutFrameworks);
  expect(found).toHaveLength(8);
  expect(compiled("test/adapters/node_modules", found)).toBe("");
});

describe("a shell block has the syntax of bash", () => {
  test.each(inLanguage("sh"))("%s", (_, { text }) => {
    const { stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
    expect(stderr).toBe("");
  });
});

describe("a Python block has the syntax of Python", () => {
  // `.ci/python` also checks the types of these blocks.
  test.skipIf(spawnSync("python3", ["--version"]).status !== 0).each(inLanguage("python"))("%s", (_, { text }) => {
    const parse = "import ast, sys; ast.parse(sys.stdin.read())";
    const { stderr } = spawnSync("python3", ["-c", parse], { input: text, encoding: "utf8" });
    expect(stderr).toBe("");
  });
});

/** Returns the arguments of each call of `countersign` in a command line. */
function callsOf(command: string): string[][] {
  return Array.from(
    command.matchAll(/(?:^|[|;&(]|\bnpx|=\S+)\s*countersign((?:\s+(?:"[^"]*"|'[^']*'|[^\s"'|;&>#]+))*)/g),
    ([, rest = ""]) => Array.from(rest.matchAll(/"[^"]*"|'[^']*'|\S+/g), ([word]) => word),
  );
}

/** Returns what is wrong with a call: a command or an option that does not exist. */
function wrongIn(words: readonly string[]): string[] {
  let command = createProgram(processTerminal());
  const wrong: string[] = [];
  let is_value = false;
  for (const word of words) {
    if (word === "--") break;
    if (is_value) {
      is_value = false;
    } else if (word.startsWith("-")) {
      const [flag] = word.split("=", 1);
      const known = command.options.find(({ long, short }) => long === flag || short === flag);
      if (known === undefined && flag !== "--help") wrong.push(`${command.name()} has no ${flag}`);
      is_value = known?.required === true && flag === word;
    } else if (command.commands.length > 0) {
      const inner = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
      if (inner === undefined) return [`${command.name()} has no command ${word}`];
      command = inner;
    }
  }
  return wrong;
}

test("every call of countersign in a block names commands and options that exist", () => {
  const calls = blocks.flatMap((block) =>
    commandsOf(block).flatMap((command) => callsOf(command).map((words) => [title(block), words] as const)),
  );
  expect(calls.length).toBeGreaterThan(15);
  expect(calls.flatMap(([at, words]) => wrongIn(words).map((problem) => `${at} ${problem}`))).toEqual([]);
});

const paths = Object.values(operations).map(({ method, path }) => ({
  method: method as string,
  segments: path.split("/"),
}));

/** Whether the API has an operation at this path. Variables of a shell and names in braces stand for one segment. */
function exists(path: string, method?: string): boolean {
  const given = path.split("/");
  return paths.some(
    (known) =>
      (method === undefined || known.method === method) &&
      known.segments.length === given.length &&
      known.segments.every((segment, at) => segment === given[at] || segment.startsWith("{")),
  );
}

test("every operation that a page names exists", () => {
  const named = pages()
    .filter(({ path }) => path !== "CHANGELOG.md")
    .flatMap(({ path, text }) =>
      Array.from(
        text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/v1\/[\w/{}.$-]*[\w}])/g),
        ([, method = "", place = ""]) => ({
          path,
          method,
          place,
        }),
      ),
    );
  expect(named.length).toBeGreaterThan(100);
  const missing = named.filter(({ method, place }) => !exists(place, method));
  expect(missing.map(({ path, method, place }) => `${path}: ${method} ${place}`)).toEqual([]);
});

test("every address that a command calls exists", () => {
  const called = blocks.flatMap((block) =>
    commandsOf(block).flatMap((command) =>
      Array.from(
        command.matchAll(/https?:\/\/[\w.:$-]+(\/v1\/[^\s"'?\\]*)/g),
        ([, place = ""]) => [title(block), place] as const,
      ),
    ),
  );
  expect(called.length).toBeGreaterThan(20);
  expect(called.filter(([, place]) => !exists(place))).toEqual([]);
});
