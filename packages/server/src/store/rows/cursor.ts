/** Cursors of lists: base64url of the last row's place, such as its id. */
import { type IdKind, idPattern, limits } from "@countersign/contract";
import { faultAt } from "@countersign/core";

export function encodeCursor(place: string): string {
  return Buffer.from(place, "utf8").toString("base64url");
}

/** Returns the place in a cursor, after which the page begins. Null: the first page. Faults: invalid_request. */
export function decodeCursor(cursor: string | undefined, isPlace: (place: string) => boolean): string | null {
  if (cursor === undefined) return null;
  const place = Buffer.from(cursor, "base64url").toString("utf8");
  if (encodeCursor(place) === cursor && isPlace(place)) return place;
  throw faultAt("invalid_request", "/cursor", "bad_format", "Send next_cursor of the previous page unchanged.");
}

/** Returns a check that accepts only ids of this kind, because PostgreSQL may refuse other texts, such as NUL. */
export function idPlace(kind: IdKind): (place: string) => boolean {
  const pattern = new RegExp(idPattern(kind));
  return (place) => pattern.test(place);
}

export function isSeq(place: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(place);
}

/** A place, and the seq of the organization's newest audit record when the first page was read. */
export interface PlaceSince {
  readonly place: string;
  readonly seq: number;
}

export function placeSince(place: string, seq: number): string {
  return `${place} ${seq}`;
}

/** Reads a cursor made with `placeSince`. Faults: invalid_request. */
export function decodeCursorSince(cursor: string | undefined, isPlace: (place: string) => boolean): PlaceSince | null {
  const text = decodeCursor(cursor, (each) => {
    const [place = "", seq = "", ...more] = each.split(" ");
    return isPlace(place) && (seq === "0" || isSeq(seq)) && more.length === 0;
  });
  if (text === null) return null;
  const [place = "", seq] = text.split(" ");
  return { place, seq: Number(seq) };
}

/** `next_cursor` is null on the last page. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly next_cursor: string | null;
}

/**
 * Makes a page from up to `limit + 1` fetched rows. `place` returns the place of a row. `more` is true if the query stopped
 * before the limit because of the size of the rows.
 */
export function page<Row>(rows: Row[], limit: number, place: (row: Row) => string, more = false): Page<Row> {
  const kept = rows.length > limit ? rows.slice(0, limit) : rows;
  const last = kept.at(-1);
  return {
    rows: kept,
    next_cursor: last !== undefined && (more || rows.length > limit) ? encodeCursor(place(last)) : null,
  };
}

export const pageLimitDefault = limits.list_limit_default;
