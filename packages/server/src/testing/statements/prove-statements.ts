/** Fails a test file if the program sends a statement that does not name its organization and is not in `fan_out`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect } from "vitest";
import { migrations_dir } from "../../paths.ts";
import { fan_out } from "./fan-out.ts";
import { type Tables, unnamedTables } from "./unnamed-tables.ts";

/** The first parameter names the organization. */
const calls = /^select \* from commit_decisions\w*\(\$1, /;

/** Transaction control, and changes of the schema. */
const notAbout = /^(?:begin|commit|rollback|set|savepoint|do|create|alter|drop|analyze|copy)\b|^--/i;

function readTables(): Tables {
  const schema = readFileSync(join(migrations_dir, "schema.golden.txt"), "utf8");
  const tables = schema.split(/^table /m).slice(1);
  const named = (pattern: RegExp) =>
    new Set(tables.filter((text) => pattern.test(text)).map((text) => text.split(/\s/, 1)[0] as string));
  // A view has no primary key.
  const of_organizations = new Set([
    ...named(/PRIMARY KEY \(org_id[,)]/),
    ...named(/^(?!.*PRIMARY KEY).*^ {2}org_id /ms),
  ]);
  return { of_organizations, with_org_id: named(/^ {2}org_id /m) };
}

/** The layer that sends statements of its callers. */
const sending = /\/(?:store\/database\/(?:session|session-pool|db)|testing\/statements\/[\w-]+)\.ts/;
const program = /\/packages\/server\/src\/(?!testing\/)(?![^:]*\.test\.ts)/;

/** The program's function that sends a statement. */
function senderIn(stack: string): string | null {
  const frames = stack
    .split("\n")
    .slice(1)
    .filter((frame) => frame.includes("/") && !/node_modules|node:/.test(frame));
  const sender = frames.find((frame) => !sending.test(frame));
  if (sender === undefined || !program.test(sender)) return null;
  return /at (?:async )?(?:\w+\.)*(\w+) /.exec(sender)?.[1] ?? sender.trim();
}

/** For all files of a worker. */
interface Kept {
  readonly seen: Set<string>;
  readonly unproven: string[];
  readonly tables: Tables;
}
const kept_as = Symbol.for("countersign.statements");
const shared = globalThis as { [kept_as]?: Kept };

function prove({ seen, unproven, tables }: Kept, text: string, name: string | undefined): void {
  if (notAbout.test(text) || calls.test(text)) return;
  const key = `${name ?? ""}:${text}`;
  if (seen.has(key)) return;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 40;
  const sender = senderIn(new Error().stack ?? "");
  Error.stackTraceLimit = stackTraceLimit;
  if (sender === null) return;
  seen.add(key);
  const found = unnamedTables(text, tables);
  // The simulation adds a word to the names of changed statements.
  const names = [name?.split(" ", 1)[0] ?? sender, sender];
  if (found.length > 0 && !names.some((each) => each in fan_out))
    unproven.push(`${name ?? sender} (${found.join(", ")}): ${text.replace(/\s+/g, " ").slice(0, 200)}`);
}

// Behind a pooler statements have no names.
const is_pooled = (process.env["POOLER_URL"] ?? "") !== "";
if (shared[kept_as] === undefined && !is_pooled) {
  const kept = { seen: new Set<string>(), unproven: [], tables: readTables() };
  shared[kept_as] = kept;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const asked = args[0] as string | { readonly text: string; readonly name?: string };
    if (typeof asked === "string") prove(kept, asked, undefined);
    else prove(kept, asked.text, asked.name);
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as never;
}

afterAll(() => {
  const unproven = shared[kept_as]?.unproven.splice(0) ?? [];
  expect(unproven, "name the organization, or list the statement in testing/statements/fan-out.ts").toEqual([]);
});
