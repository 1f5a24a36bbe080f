/** Opaque list positions: `next_cursor` holds the last row's place, base64url so that nobody reads or builds one. */
import { type IdKind, idPattern, limits } from "@countersign/contract";
import { faultAt } from "@countersign/core";

/** The cursor after `place`. */
function encodeCursor(place: string): string {
  return Buffer.from(place, "utf8").toString("base64url");
}

/** The place that a cursor names, or null for the first page. Faults: invalid_request when it is not of our making. */
export function decodeCursor(cursor: string | undefined, isPlace: (place: string) => boolean): string | null {
  if (cursor === undefined) return null;
  const place = Buffer.from(cursor, "base64url").toString("utf8");
  if (encodeCursor(place) === cursor && isPlace(place)) return place;
  throw faultAt("invalid_request", "/cursor", "bad_format", "Use next_cursor of the previous page as it was given.");
}

/** Whether a place is an identifier of this kind: any other text is no place of such a list, and may be unfit for SQL. */
export function idPlace(kind: IdKind): (place: string) => boolean {
  const pattern = new RegExp(idPattern(kind));
  return (place) => pattern.test(place);
}

/** Whether a place is the number of a row of the audit trail. */
export function isSeq(place: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(place);
}

/** A place in a list, and what its first page was read at: the organization's newest audit record. */
export interface PlaceSince {
  readonly place: string;
  readonly seq: number;
}

/** The text of a place that remembers its first page. */
export function placeSince(place: string, seq: number): string {
  return `${place} ${seq}`;
}

/** Reads a cursor whose places are of `placeSince`. Faults: invalid_request. */
export function decodeCursorSince(cursor: string | undefined, isPlace: (place: string) => boolean): PlaceSince | null {
  const text = decodeCursor(cursor, (each) => {
    const [place = "", seq = "", ...more] = each.split(" ");
    return isPlace(place) && (seq === "0" || isSeq(seq)) && more.length === 0;
  });
  if (text === null) return null;
  const [place = "", seq] = text.split(" ");
  return { place, seq: Number(seq) };
}

/** One page of a list; `next_cursor` null: the last one. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly next_cursor: string | null;
}

/**
 * Cuts a page out of `limit + 1` fetched rows: the rows, and the cursor of the next page or null on the last one. `more`:
 * fewer were fetched than there are, because of their size.
 */
export function page<Row>(rows: Row[], limit: number, place: (row: Row) => string, more = false): Page<Row> {
  const kept = rows.length > limit ? rows.slice(0, limit) : rows;
  const last = kept.at(-1);
  return {
    rows: kept,
    next_cursor: last !== undefined && (more || rows.length > limit) ? encodeCursor(place(last)) : null,
  };
}

/** Rows of a page when the caller names no limit. */
export const pageLimitDefault = limits.list_limit_default;
