/** Reads the database's time. All expiries use it, so the clocks of nodes do not matter. */
import { parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** Returns the database's time as RFC 3339 text. */
export async function databaseNow(query: Query): Promise<string> {
  const [row] = await query<{ at: string }>("select clock_timestamp() as at");
  if (row === undefined) throw new Error("the database returned no time");
  return row.at;
}

/** Returns the database's time in microseconds since the Unix epoch. */
export async function databaseNowUs(query: Query): Promise<number> {
  const now_us = parseTimestampUs(await databaseNow(query));
  if (now_us === null) throw new Error("the database returned an unreadable time");
  return now_us;
}
