import type { Erasure } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { listErasures as listRows, readErasure } from "../../store/erasure/erasures.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { shownErasure } from "./request-erasure.ts";

const isErasure = idPlace("erasure");

/** Lists erasures, newest first. Faults: invalid_request (cursor). */
export async function listErasures(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  limit: number,
  cursor: string | undefined,
): Promise<Page<Erasure>> {
  const before = decodeCursor(cursor, isErasure);
  const rows = await runtime.db.tenant(org_id, (query) => listRows(query, org_id, before, limit + 1));
  return page(rows.map(shownErasure), limit, ({ erasure_id }) => erasure_id ?? "");
}

/** Faults: not_found. */
export async function getErasure(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  erasure_id: string,
): Promise<Erasure> {
  const row = await runtime.db.tenant(org_id, (query) => readErasure(query, org_id, erasure_id));
  if (row === undefined) throw new Fault("not_found");
  return shownErasure(row);
}
