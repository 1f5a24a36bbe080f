/** Stores `last_used_at` and `last_submitted_at` of keys, to the minute, for many requests together. */

import { formatTimestampUs } from "@countersign/core";
import type { Log, Timers } from "../../ports.ts";
import type { Database } from "../../store/database/db.ts";
import { noteKeyUses } from "../../store/keys/keys.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import type { KeyUses } from "./keys.ts";

const minute_us = 60_000_000;
/** The statement skips minutes that are stored already. */
const write_after_ms = 15_000;
/** While the database is unavailable. A lost time is off by a minute. */
const pending_max = 50_000;

interface KeyUse {
  readonly org_id: string;
  readonly key_id: string;
  readonly minute: number;
  /** In this minute, or in an earlier one that is not written yet. */
  readonly submits: boolean;
}

export function createKeyUses(db: Pick<Database, "named">, timers: Timers, log: Log): KeyUses {
  const pending = new Map<string, KeyUse>();

  async function flush(only_org_id: string | null): Promise<void> {
    const noted = [...pending.values()].filter(({ org_id }) => only_org_id === null || org_id === only_org_id);
    for (const { key_id } of noted) pending.delete(key_id);
    for (const [org_id, keys] of byOrganization(noted)) {
      const times = keys.map(({ minute }) => formatTimestampUs(minute * minute_us));
      const submits = keys.map((key) => key.submits);
      await db.named(noteKeyUses, [org_id, keys.map(({ key_id }) => key_id), times, submits]);
    }
  }

  return {
    note(org_id, key_id, now_us, submits) {
      const minute = Math.floor(now_us / minute_us);
      const noted = pending.get(key_id);
      if (noted?.minute === minute && (noted.submits || !submits)) return;
      if (pending.size >= pending_max) return;
      if (pending.size === 0) {
        timers.after(write_after_ms, () => {
          flush(null).catch((error: unknown) => log.warn({ err: error }, "could not store when keys were used"));
        });
      }
      pending.set(key_id, { org_id, key_id, minute, submits: submits || noted?.submits === true });
    },
    flush,
  };
}
