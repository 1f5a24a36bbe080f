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

/**
 * Returns sessions whose commits use the simulated clock. `passage`: of the commit's function, replaced.
 */
export async function connectOnSimClock(
  connection: ConnectionOptions,
  passage?: readonly [string, string],
): Promise<ConnectCommit> {
  await createSimClock(connection);
  const copy = passage === undefined ? "commit_decisions_sim" : "commit_decisions_misspelt";
  const function_name = await copyFunction(connection, "commit_decisions", copy, passage);
  return connectCommit(connection, { function_name });
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

/**
 * Creates a copy of a database function that uses the simulated clock, with one passage replaced. Returns its name.
 * Rejects if the passage no longer exists.
 */
async function copyFunction(
  connection: ConnectionOptions,
  name: string,
  copy: string,
  [right, wrong]: readonly [string, string] = ["", ""],
): Promise<string> {
  await asOwner(connection, async (run) => {
    const [found] = await run(function_source, [name]);
    const source = String(found?.["text"]);
    if (!source.includes(right)) throw new Error(`${name} no longer contains: ${right}`);
    await run(onSimClock(source).replace(name, copy).replace(right, wrong));
  });
  return copy;
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
