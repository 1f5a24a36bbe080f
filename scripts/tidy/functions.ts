/** Limits functions to 70 lines, with exceptions that may only shrink. */
import { parseSync, Visitor } from "oxc-parser";
import { longPythonFunctions } from "./python.ts";
import { isTestCode } from "./walls.ts";

const lines_max = 70;

/** `line` counts from 1. */
export interface LongFunction {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

export interface Exception {
  readonly path: string;
  readonly name: string;
  readonly lines: number;
}

/** Names an anonymous function by its line. */
export function longFunctions(path: string, source: string): LongFunction[] {
  const found: LongFunction[] = [];
  if (source.split("\n").length <= lines_max) return found;
  if (path.endsWith(".py")) return longPythonFunctions(source, lines_max);
  const names = new Map<number, string>();
  const look = ({ start, end, id }: { start: number; end: number; id?: { name: string } | null }): void => {
    const lines = source.slice(start, end).split("\n").length;
    if (lines <= lines_max) return;
    const line = source.slice(0, start).split("\n").length;
    found.push({ name: id?.name ?? names.get(start) ?? `line ${line}`, line, lines });
  };
  const { program, errors } = parseSync(path, source);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      if (id.type === "Identifier" && init != null) names.set(init.start, id.name);
    },
    MethodDefinition: ({ key, value }) => {
      if (key.type === "Identifier") names.set(value.start, key.name);
    },
    Property: ({ key, value }) => {
      if (key.type === "Identifier") names.set(value.start, key.name);
    },
    FunctionDeclaration: look,
    FunctionExpression: look,
    ArrowFunctionExpression: look,
  }).visit(program);
  return found;
}

interface FunctionFinding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

/** Returns long functions that are not exceptions or have grown, and exceptions that shrank or disappeared. */
export function functionFindings(
  files: readonly { readonly path: string; readonly source: string }[],
  exceptions: readonly Exception[],
): FunctionFinding[] {
  const key = (path: string, name: string) => `${path} ${name}`;
  const allowed = new Map(exceptions.map(({ path, name, lines }) => [key(path, name), lines]));
  const findings: FunctionFinding[] = [];
  for (const { path, source } of files) {
    if (isTestCode(path) && !/^(?:sim|bench|scripts)\/(?!.*\.test\.)/.test(path)) continue;
    for (const { name, line, lines } of longFunctions(path, source)) {
      const known = allowed.get(key(path, name));
      allowed.delete(key(path, name));
      if (known === lines) continue;
      const message =
        known === undefined
          ? `${name} has ${lines} lines; at most ${lines_max}: find its steps and give each a name`
          : known < lines
            ? `${name} has grown from ${known} to ${lines} lines: split it`
            : `${name} has shrunk to ${lines} lines: write ${lines} into scripts/tidy/long-functions.json`;
      findings.push({ path, line, rule: "function", message });
    }
  }
  for (const place of allowed.keys()) {
    const [path = "", ...name] = place.split(" ");
    const message = `${name.join(" ")} is within the limit: remove it from scripts/tidy/long-functions.json`;
    findings.push({ path, line: 0, rule: "function", message });
  }
  return findings;
}
