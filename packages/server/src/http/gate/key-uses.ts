/** `last_used_at` of keys, to the minute: noted in memory, written together, never by a request. */

import { formatTimestampUs } from "@countersign/core";
import type { Log, Timers } from "../../ports.ts";
import type { Database } from "../../store/database/db.ts";
import { noteKeyUses } from "../../store/keys/keys.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import type { KeyUses } from "./keys.ts";

const minute_us = 60_000_000;
/** A key used all the time is written once a minute at most: the statement skips minutes that are there already. */
const write_after_ms = 15_000;
/** While the database is away no more than this is remembered; what is lost is a minute's note. */
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
          flush().catch((error: unknown) => log.warn({ err: error }, "could not note when keys were used"));
        });
      }
      pending.set(key_id, { org_id, key_id, minute });
    },
    flush,
  };
}
