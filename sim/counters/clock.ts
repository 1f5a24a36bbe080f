/** Replaces the database's clock by a simulated one, so that windows end when a world wants. */

import type { Db } from "../../packages/server/src/ports.ts";
import { type ConnectCommit, connectCommit } from "../../packages/server/src/store/commit/commit-writer.ts";
import { type ConnectionOptions, openClient } from "../../packages/server/src/store/database/connection.ts";

const clock_calls = /\b(?:clock_timestamp|statement_timestamp|now)\(\)/g;

/** Returns the statement with calls of `sim_now` instead of the real clock. */
export function onSimClock(statement: string): string {
  return statement.replace(clock_calls, "sim_now()");
}

/** Returns the source of a database function. Of several with one name, that with the most parameters. */
const function_source =
  "select pg_get_functiondef(oid) as text from pg_proc where proname = $1 order by pronargs desc limit 1";

export type Passage = readonly [right: string, wrong: string];

/** A planted fault: passages of one database function, replaced. */
export interface Misspelling {
  readonly name: "commit_decisions" | "stale_counts" | "change_counted";
  readonly passages: readonly Passage[];
}

/** Returns sessions whose commits use the simulated clock. */
export async function connectOnSimClock(
  connection: ConnectionOptions,
  misspelling?: Misspelling,
): Promise<ConnectCommit> {
  await createSimClock(connection);
  const passages = misspelling?.name === "commit_decisions" ? misspelling.passages : [];
  if (misspelling?.name !== "stale_counts") return connectTo(connection, passages);
  const stale_counts = await misspeltFunction(connection, misspelling);
  return connectTo(connection, [["stale_counts(", `${stale_counts}(`]]);
}

async function connectTo(connection: ConnectionOptions, passages: readonly Passage[]): Promise<ConnectCommit> {
  const copy = passages.length === 0 ? "commit_decisions_sim" : "commit_decisions_misspelt";
  await copyFunction(connection, "commit_decisions", copy, passages);
  return connectCommit(connection, { function_name: copy });
}

/** Creates a misspelt copy of a database function. Returns its name. */
export async function misspeltFunction(
  connection: ConnectionOptions,
  { name, passages }: Misspelling,
): Promise<string> {
  const copy = `${name}_misspelt`;
  await copyFunction(connection, name, copy, passages);
  return copy;
}

async function createSimClock(connection: ConnectionOptions): Promise<void> {
  await asOwner(connection, async (run) => {
    await run(`create unlogged table if not exists sim_clock (us bigint not null)`);
    await run("insert into sim_clock select 0 where not exists (select from sim_clock)");
    await run(`create or replace function sim_now() returns timestamptz language sql stable as $$
      select timestamptz 'epoch' + us * interval '1 microsecond' from sim_clock $$`);
    await run("grant select, update on sim_clock to public");
  });
}

/** Creates a copy of a database function that uses the simulated clock. Rejects if a passage no longer exists. */
async function copyFunction(
  connection: ConnectionOptions,
  name: string,
  copy: string,
  passages: readonly Passage[],
): Promise<void> {
  await asOwner(connection, async (run) => {
    const [found] = await run(function_source, [name]);
    let source = onSimClock(String(found?.["text"])).replace(name, copy);
    for (const [right, wrong] of passages) {
      if (!source.includes(right)) throw new Error(`${name} no longer contains: ${right}`);
      source = source.replaceAll(right, wrong);
    }
    await run(source);
  });
}

export async function setSimClock(db: Db, now_us: number): Promise<void> {
  await db.system((query) => query("update sim_clock set us = $1", [now_us]));
}

type Run = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

async function asOwner(connection: ConnectionOptions, work: (run: Run) => Promise<void>): Promise<void> {
  const client = await openClient(connection, "countersign simulation");
  try {
    await work(async (text, values) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}
