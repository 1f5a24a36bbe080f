import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import { readWebhooks, type StoredWebhook } from "../../store/webhooks/webhooks.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isWebhook = idPlace("webhook");

/** Lists webhooks with masked secrets, newest first. Faults: invalid_request (cursor). Source: spec §4. */
export async function listWebhooks(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ webhooks: StoredWebhook[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isWebhook);
  const found = await runtime.db.tenant(caller.org_id, (query) =>
    readWebhooks(query, caller.org_id, limit + 1, before),
  );
  const { rows: webhooks, next_cursor } = page(found, limit, (row) => row.id);
  return { webhooks, next_cursor };
}
