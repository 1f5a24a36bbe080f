import type { ApiKey } from "@countersign/contract";
import { listKeys as readKeys } from "../../store/keys/keys.ts";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isKey = idPlace("api_key");

/**
 * The organization's keys without their texts, newest first, revoked and expired ones included.
 * Faults: invalid_request (cursor). Source: api.md §3.
 */
export async function listKeys(
  runtime: Pick<Runtime, "db"> & Partial<Pick<Runtime, "callers">>,
  caller: Pick<Caller, "org_id">,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ api_keys: ApiKey[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isKey);
  // A key that has just submitted is listed with its warning. The command line is no node, and knows no uses.
  await runtime.callers?.writeUses(caller.org_id);
  const rows = await runtime.db.tenant(caller.org_id, (query) => readKeys(query, caller.org_id, limit + 1, before));
  const { rows: api_keys, next_cursor } = page(rows, limit, (row) => row.key_id);
  return { api_keys, next_cursor };
}
