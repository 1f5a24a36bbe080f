/** Makes a file from the pages of a list. Memory holds one page of rows and its bytes. */
import { createHash } from "node:crypto";
import type { ExportFormat, ExportProgress, ExportSummary } from "@countersign/contract";
import { type Column, csvHead, csvLine, faultAt, parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readAuditSeq } from "../../store/organizations/heads.ts";
import { idTime_ms } from "../../store/rows/first-id-at.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { ExportEncoder } from "./export-encoder.ts";
import { startParquet } from "./parquet-file.ts";

/** Rows of one page. More rows would block the thread for longer than a decision takes. */
export const page_rows = 200;

export interface ExportPart {
  readonly bytes: Uint8Array;
  readonly progress: ExportProgress;
}

export interface ExportedFile {
  readonly format: ExportFormat;
  /** Without its end. */
  readonly name: string;
  readonly as_of_seq: number;
  /** Parts in order. Returns the summary at the end. */
  readonly parts: AsyncGenerator<ExportPart, ExportSummary>;
}

/** The rows of an export, newest first. */
export interface ExportSource<Row> {
  readonly timeOf: (row: Row) => string;
  readonly pages: AsyncIterable<readonly Row[]>;
}

/** The oldest time that an export can have rows of, for its progress. */
export function oldestUs(org_id: string, from: string | undefined): number {
  const made_us = (idTime_ms(org_id) ?? 0) * 1000;
  return Math.max(made_us, from === undefined ? 0 : (parseTimestampUs(from) ?? 0));
}

/**
 * Reads the pages of an export up to an audit record. `read` gets null for the first page, and returns the place of the next one, or
 * null at the end. Rejects with a 401 fault after the caller's key or session ended.
 */
export async function* pagesUpTo<Row, Place>(
  { callers, db }: Pick<Runtime, "callers" | "db">,
  caller: Caller,
  seq: number,
  read: (query: Query, place: Place | null) => Promise<{ readonly rows: readonly Row[]; readonly next: Place | null }>,
): AsyncGenerator<readonly Row[]> {
  let place: Place | null = null;
  do {
    await callers.reload(caller);
    const from: Place | null = place;
    const { rows, next }: { readonly rows: readonly Row[]; readonly next: Place | null } = await db.reading(
      caller.org_id,
      { seq },
      (query) => read(query, from),
    );
    yield rows;
    place = next;
  } while (place !== null);
}

/**
 * Returns the newest audit record that an export covers: the given one, or the newest of all. Faults: invalid_request (there is
 * no such record).
 */
export async function asOfSeq({ db }: Pick<Runtime, "db">, org_id: string, given: number | undefined): Promise<number> {
  const newest = await db.tenant(org_id, (query) => readAuditSeq(query, org_id));
  if (given === undefined) return newest;
  if (given <= newest) return given;
  throw faultAt(
    "invalid_request",
    "/as_of_seq",
    "out_of_range",
    `The newest audit record is ${newest}. Send at most that.`,
  );
}

export async function* exportParts<Row extends object>(
  source: ExportSource<Row>,
  encoder: ExportEncoder<Row>,
  oldest_us: number,
  as_of_seq: number,
): AsyncGenerator<ExportPart, ExportSummary> {
  const sum = createHash("sha256");
  let bytes = 0;
  let rows = 0;
  let newest_us: number | null = null;
  const part = (piece: Uint8Array, done: number): ExportPart => {
    sum.update(piece);
    bytes += piece.length;
    return { bytes: piece, progress: { rows, done } };
  };
  yield part(encoder.head(), 0);
  for await (const page of source.pages) {
    const last = page.at(-1);
    if (last === undefined) continue;
    const piece = encoder.rows(page);
    const at_us = parseTimestampUs(source.timeOf(last)) ?? oldest_us;
    newest_us ??= parseTimestampUs(source.timeOf(page[0] ?? last)) ?? at_us;
    rows += page.length;
    yield part(piece, newest_us <= oldest_us ? 0 : share((newest_us - at_us) / (newest_us - oldest_us)));
  }
  yield part(encoder.tail(), 1);
  return { rows, bytes, sha256: sum.digest("hex"), as_of_seq };
}

const share = (value: number) => Math.min(Math.max(value, 0), 1);

/** Returns what writes rows with these columns in a format. */
export function encoderFor<Row extends object>(
  format: ExportFormat,
  columns: readonly Column<Row>[],
): ExportEncoder<Row> {
  return encoders[format](columns);
}

type Encoders = {
  readonly [Format in ExportFormat]: <Row extends object>(columns: readonly Column<Row>[]) => ExportEncoder<Row>;
};

const nothing = new Uint8Array();
const utf8 = (text: string) => Buffer.from(text, "utf8");

const encoders: Encoders = {
  csv: (columns) => ({
    head: () => utf8(csvHead(columns)),
    rows: (page) => utf8(page.map((row) => csvLine(columns, row)).join("")),
    tail: () => nothing,
  }),
  jsonl: () => ({
    head: () => nothing,
    rows: (page) => utf8(page.map((row) => `${JSON.stringify(row)}\n`).join("")),
    tail: () => nothing,
  }),
  parquet: startParquet,
};
