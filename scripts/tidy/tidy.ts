/**
 * Checks house rules that no compiler checks. Each finding says what to write instead. `npm run check` and
 * scripts/tidy/tidy.test.ts run it.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { circleFindings } from "./circles.ts";
import { constantFindings } from "./constants.ts";
import { type Exception, functionFindings } from "./functions.ts";
import { proseFindings } from "./prose.ts";
import { placesOf, referenceFindings } from "./references.ts";
import { codeOnly, importsOf, lineAt } from "./scan.ts";
import { isTestCode, type Room, roomOf, wallFinding } from "./walls.ts";

/** A broken house rule. `line` counts from 1; 0 is the whole file. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

const lines_max = 400;
const lines_questioned = 300;
const files_max = 20;

interface Pattern {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly message: string;
  readonly applies: (path: string, room: Room) => boolean;
}

const pureRooms: readonly Room[] = ["contract", "cel", "core"];
/** Node.js modules whose functions depend only on their arguments. Randomness is found by name. */
const pureModules = new Set(["node:buffer", "node:crypto", "node:zlib"]);
const atEdge = (room: Room): boolean => room === "free" || room === "edge" || room === "cli";
/** The only file of the console that reads the browser's clock. */
const isBrowserClock = (path: string): boolean => path === "packages/console/src/browser/clock.ts";
/** Measures how busy the event loop was. No decision depends on it. */
const isEventLoop = (path: string): boolean => path === "packages/server/src/operations/shared/turns.ts";
/** Code in a customer's process, which has none of our ports. */
const atCustomer = (room: Room): boolean => room === "sdk" || room === "mcp" || room === "console";
/** Supervises a process of this machine, as the edge does. */
const supervises = (path: string): boolean => path.startsWith("packages/server/src/store/embedded-postgres/");

const patterns: readonly Pattern[] = [
  {
    rule: "clock",
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new\s+)\bDate\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b/g,
    message: "time comes from the Clock port (or as a parameter now_us in core)",
    applies: (path, room) => !atEdge(room) && !isBrowserClock(path) && !isEventLoop(path),
  },
  {
    rule: "timer",
    pattern: /(?<![.\w])(?:setTimeout|setInterval)\s*\(/g,
    message: "timers come from the edge through a port; wait for a condition, not for a time",
    applies: (path, room) => !atEdge(room) && !atCustomer(room) && !isEventLoop(path),
  },
  {
    rule: "random",
    pattern: /\bMath\.random\b|\b(?:randomBytes|randomUUID|randomInt|getRandomValues)\s*\(/g,
    message: "randomness and identifiers come from the Ids port (or as a parameter in core)",
    applies: (path, room) => !atEdge(room) && !atCustomer(room) && !supervises(path),
  },
  {
    rule: "environment",
    pattern: /\bprocess\.env\b/g,
    message: "settings are read once, in edge/start/config.ts; take the value as a parameter",
    applies: (_, room) => !atEdge(room),
  },
  {
    rule: "default-export",
    pattern: /(?:^|[\n;])\s*export\s+default\b|\bas\s+default\b/g,
    message: "export it by name, so that it has the same name everywhere",
    // vitest needs default exports in its config and its set-up.
    applies: (path) => !/(?:\.config|\/global-setup)\.[mc]?ts$/.test(path),
  },
  {
    rule: "status",
    pattern: /\.(?:code|status)\(\s*[45]\d\d\b|\bstatusCode\s*[=:]\s*[45]\d\d\b/g,
    message: "throw a Fault with an error code; only http/answer/faults.ts turns it into a status",
    applies: (path, room) =>
      room !== "free" && path.startsWith("packages/server/") && !path.endsWith("/http/answer/faults.ts"),
  },
  {
    rule: "eval",
    pattern: /\bnew\s+Function\s*\(|(?<![.\w])eval\s*\(/g,
    message: "compile to closures",
    applies: () => true,
  },
  {
    rule: "only",
    pattern: /\b(?:it|test|describe)\.only\b/g,
    message: "run all tests: remove .only",
    applies: (path) => path.endsWith(".test.ts"),
  },
  {
    rule: "sleep",
    pattern: /\bnew Promise(?:<\w+>)?\(\s*\(?(\w+)\)?\s*=>\s*\{?\s*setTimeout\(\s*\1\b/g,
    message: "wait for the condition (vi.waitFor, an event), not for a time",
    applies: (path) => path.endsWith(".test.ts"),
  },
];

const statement = /["`]\s*(?:select\s[^"`]*\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s)/g;

/** Returns all findings of one file. `path` starts at the repository's root. */
export function fileFindings(path: string, source: string): Finding[] {
  const at = (line: number, rule: string, message: string): Finding => ({ path, line, rule, message });
  const findings = nameFindings(path);
  const lines = source.split("\n").length - 1;
  if (lines > lines_max) {
    findings.push(
      at(0, "size", `${lines} lines; at most ${lines_max}: find the two things in it and give each a file`),
    );
  }
  if (path.endsWith(".py")) return findings;
  const code = codeOnly(source);
  const room = roomOf(path);
  for (const { specifier, line } of importsOf(source, code)) {
    const wall = wallFinding(path, specifier);
    if (wall !== null) findings.push(at(line, "wall", `${specifier}: ${wall}`));
    if (pureRooms.includes(room) && specifier.startsWith("node:") && !pureModules.has(specifier)) {
      findings.push(at(line, "pure", `${specifier}: ${room} is pure; take the data as a parameter`));
    }
    if (specifier === "pg" && room !== "store" && room !== "free") {
      findings.push(at(line, "sql", "all SQL is in server/src/store: call a function there"));
    }
  }
  if (path.startsWith("packages/server/") && room !== "store" && room !== "free") {
    for (const { index } of source.matchAll(statement)) {
      if (code[index] === " ") continue;
      findings.push(at(lineAt(source, index), "sql", "all SQL is in server/src/store: call a function there"));
    }
  }
  for (const { rule, pattern, message, applies } of patterns) {
    if (!applies(path, room)) continue;
    for (const match of code.matchAll(pattern)) {
      findings.push(at(lineAt(source, match.index + match[0].search(/\S/)), rule, `${match[0].trim()}: ${message}`));
    }
  }
  return findings;
}

function nameFindings(path: string): Finding[] {
  const name = path.split("/").at(-1) ?? "";
  const findings: Finding[] = [];
  if (name.endsWith(".py")) {
    if (!/^[a-z0-9_]+\.py$/.test(name)) {
      findings.push({ path, line: 0, rule: "name", message: "files of Python are named in snake_case" });
    }
  } else if (!/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*$/.test(name)) {
    findings.push({ path, line: 0, rule: "name", message: "files are named in kebab-case" });
  }
  if (/^(?:utils?|helpers?|types|common|misc|shared)\.(?:[mc]?tsx?|py)$/.test(name)) {
    findings.push({ path, line: 0, rule: "name", message: "name the file after what it holds" });
  }
  return findings;
}

export function folderFindings(paths: readonly string[]): Finding[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!/\.test\.tsx?$/.test(path)) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  }
  return [...counts].flatMap(([path, count]) => {
    if (count <= files_max) return [];
    const message = `${count} source files; at most ${files_max}: group them into folders by capability`;
    return [{ path, line: 0, rule: "folder", message }];
  });
}

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const skipped = new Set(["node_modules", "dist", "data", "coverage"]);

function filesBelow(folder: string, name: RegExp): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.has(entry.name) || entry.name.startsWith(".") ? [] : filesBelow(path, name);
    return name.test(entry.name) ? [path] : [];
  });
}

/** Returns all findings, and files so long that they may need a split. */
export function repositoryFindings(): { findings: Finding[]; questions: string[] } {
  const exceptions: Exception[] = JSON.parse(readFileSync(join(root, "scripts/tidy/long-functions.json"), "utf8"));
  const read = (path: string) => ({ path, source: readFileSync(join(root, path), "utf8") });
  const files = filesBelow("", /\.(?:[mc]?ts|tsx|mjs)$/).map(read);
  const python = filesBelow("", /\.py$/).map(read);
  const documents = filesBelow("", /\.md$/).map(read);
  const places = placesOf(documents);
  const long = files.filter(
    ({ path, source }) => !isTestCode(path) && source.split("\n").length - 1 > lines_questioned,
  );
  return {
    findings: [
      ...[...files, ...python].flatMap(({ path, source }) => fileFindings(path, source)),
      ...folderFindings([...files, ...python].map(({ path }) => path)),
      ...functionFindings([...files, ...python], exceptions),
      ...files.filter(({ path }) => !isTestCode(path)).flatMap(({ path, source }) => constantFindings(path, source)),
      ...circleFindings(files),
      ...[...files, ...python, ...documents].flatMap(({ path, source }) => proseFindings(path, source)),
      ...[...files, ...python].flatMap(({ path, source }) => referenceFindings(path, source, places)),
    ],
    questions: long.map(({ path }) => path),
  };
}

export function findingText({ path, line, rule, message }: Finding): string {
  return `${path}${line > 0 ? `:${line}` : ""} [${rule}] ${message}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { findings, questions } = repositoryFindings();
  for (const path of questions) console.log(`${path} has more than ${lines_questioned} lines: can it be split?`);
  for (const finding of findings) console.error(findingText(finding));
  console.log(findings.length === 0 ? "tidy" : `${findings.length} findings`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
