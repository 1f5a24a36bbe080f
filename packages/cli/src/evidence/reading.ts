/** Parts that the readers of an archive's parts share. */
import type { CallerInfo, OrgAuditRecord } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import type { Client } from "@countersign/sdk";
import { CommandFailed } from "../command-failed.ts";
import { startLines } from "./lines.ts";
import type { ZipWriter } from "./zip-writer.ts";

/** RFC 3339. `from` is included, `to` is not. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

export interface Making {
  readonly client: Client;
  readonly zip: ZipWriter;
  readonly caller: CallerInfo;
  readonly period: Period;
  readonly signal: AbortSignal;
  /** Gets what is read now, and how far that is (0 to 1). */
  readonly report: (done: number, text: string) => void;
}

/** Passes each line of an export on. */
export function linesTo(take: (line: Buffer) => Promise<void> | void) {
  const lines = startLines();
  let count = 0;
  return {
    async push(bytes: Uint8Array): Promise<void> {
      for (const line of lines.push(bytes)) {
        count += 1;
        await take(line);
      }
    },
    /** Returns the number of lines. */
    end(): number {
      if (lines.rest().length > 0) throw new CommandFailed("the last line of the service is incomplete");
      return count;
    },
  };
}

export const objectIn = <T>(line: Buffer): T => JSON.parse(line.toString("utf8")) as T;

/** Returns whether a time of a record is in the period. */
export function within({ from, to }: Period): (at: string) => boolean {
  const [from_us, to_us] = [microseconds(from), microseconds(to)];
  return (at) => microseconds(at) >= from_us && microseconds(at) < to_us;
}

function microseconds(time: string): number {
  const us = parseTimestampUs(time);
  if (us === null) throw new CommandFailed(`${time} is not a time of RFC 3339`);
  return us;
}

/** Returns all audit records of a type up to a record. */
export async function recordsOf(
  client: Client,
  type: OrgAuditRecord["type"],
  as_of_seq: number,
  signal: AbortSignal,
): Promise<OrgAuditRecord[]> {
  const records: OrgAuditRecord[] = [];
  const lines = linesTo((line) => void records.push(objectIn<OrgAuditRecord>(line)));
  await client.exportAudit({ format: "jsonl", type, as_of_seq }, { on_part: (bytes) => lines.push(bytes), signal });
  lines.end();
  return records;
}
