import type { ApiKey } from "@countersign/contract";
import { listKeys as readKeys } from "../../store/keys/keys.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isKey = idPlace("api_key");

/**
 * Lists keys without their texts, newest first, including revoked and expired ones. Faults: invalid_request (cursor).
 */
export async function listKeys(
  runtime: Pick<Runtime, "db"> & Partial<Pick<Runtime, "callers">>,
  caller: Pick<Caller, "org_id">,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ api_keys: ApiKey[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isKey);
  // Writes uses first, so that recent uses are listed. The command line is no node and has none.
  await runtime.callers?.writeUses(caller.org_id);
  const rows = await runtime.db.tenant(caller.org_id, (query) => readKeys(query, caller.org_id, limit + 1, before));
  const { rows: api_keys, next_cursor } = page(rows, limit, (row) => row.key_id);
  return { api_keys, next_cursor };
}
