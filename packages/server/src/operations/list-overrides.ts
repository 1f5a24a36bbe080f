import type { Override } from "@countersign/contract";
import { decodeCursor, idPlace, type Page, page } from "../store/cursor.ts";
import { type OverrideFilter, listOverrides as readPage } from "../store/overrides.ts";
import type { Caller } from "./caller.ts";
import type { Runtime } from "./runtime.ts";

const isOverride = idPlace("override");

/** The organization's overrides, newest first. Faults: invalid_request (cursor). */
export async function listOverrides(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  filter: OverrideFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Override>> {
  const before = decodeCursor(cursor, isOverride);
  const rows = await runtime.db.tenant(caller.org_id, (query) =>
    readPage(query, caller.org_id, filter, before, limit + 1),
  );
  return page(rows, limit, (row) => row.override_id);
}
