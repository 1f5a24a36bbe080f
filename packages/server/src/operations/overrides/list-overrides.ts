import type { Override } from "@countersign/contract";
import { type OverrideFilter, listOverrides as readPage } from "../../store/overrides/overrides.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isOverride = idPlace("override");

/** Lists the organization's overrides, newest first. Faults: invalid_request (cursor). */
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
