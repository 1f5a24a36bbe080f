/** Opaque list positions: the last row's place in base64url. */
import { type IdKind, idPattern, limits } from "@countersign/contract";
import { faultAt } from "@countersign/core";

function encodeCursor(place: string): string {
  return Buffer.from(place, "utf8").toString("base64url");
}

/** Returns the place of a cursor. Null: the first page. Faults: invalid_request. */
export function decodeCursor(cursor: string | undefined, isPlace: (place: string) => boolean): string | null {
  if (cursor === undefined) return null;
  const place = Buffer.from(cursor, "base64url").toString("utf8");
  if (encodeCursor(place) === cursor && isPlace(place)) return place;
  throw faultAt("invalid_request", "/cursor", "bad_format", "Use next_cursor of the previous page as it was given.");
}

/** Accepts only ids of this kind, because other texts may be invalid in SQL. */
export function idPlace(kind: IdKind): (place: string) => boolean {
  const pattern = new RegExp(idPattern(kind));
  return (place) => pattern.test(place);
}

export function isSeq(place: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(place);
}

/** `seq`: the organization's newest audit record at the first page. */
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

/** `next_cursor` null: the last page. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly next_cursor: string | null;
}

/** Makes a page from `limit + 1` fetched rows. `more`: fewer were fetched because of their size. */
export function page<Row>(rows: Row[], limit: number, place: (row: Row) => string, more = false): Page<Row> {
  const kept = rows.length > limit ? rows.slice(0, limit) : rows;
  const last = kept.at(-1);
  return {
    rows: kept,
    next_cursor: last !== undefined && (more || rows.length > limit) ? encodeCursor(place(last)) : null,
  };
}

export const pageLimitDefault = limits.list_limit_default;
