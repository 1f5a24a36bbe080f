/**
 * Stores `last_used_at` of keys, to the minute. Requests note the times in memory, and a timer writes them together.
 */

import { formatTimestampUs } from "@countersign/core";
import type { Log, Timers } from "../../ports.ts";
import type { Database } from "../../store/database/db.ts";
import { noteKeyUses } from "../../store/keys/keys.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import type { KeyUses } from "./keys.ts";

const minute_us = 60_000_000;
/**
 * Time between writes. A key in constant use is still written once a minute at most, because the statement skips
 * minutes that are already stored.
 */
const write_after_ms = 15_000;
/** While the database is unavailable, at most this many times are kept. A lost time is off by a minute. */
const pending_max = 50_000;

/** Creates the notes of one node. */
export function createKeyUses(db: Pick<Database, "named">, timers: Timers, log: Log): KeyUses {
  let pending = new Map<string, { readonly org_id: string; readonly key_id: string; readonly minute: number }>();

  async function flush(): Promise<void> {
    const uses = byOrganization([...pending.values()]);
    pending = new Map();
    for (const [org_id, keys] of uses) {
      const times = keys.map(({ minute }) => formatTimestampUs(minute * minute_us));
      await db.named(noteKeyUses, [org_id, keys.map(({ key_id }) => key_id), times]);
    }
  }

  return {
    note(org_id, key_id, now_us) {
      const minute = Math.floor(now_us / minute_us);
      if (pending.get(key_id)?.minute === minute || pending.size >= pending_max) return;
      if (pending.size === 0) {
        timers.after(write_after_ms, () => {
          flush().catch((error: unknown) => log.warn({ err: error }, "could not store when keys were used"));
        });
      }
      pending.set(key_id, { org_id, key_id, minute });
    },
    flush,
  };
}
