import type { Db, Query } from "../../packages/server/src/ports.ts";
import { newest_entry } from "../../packages/server/src/store/counters/counters.ts";
import { microseconds } from "../../packages/server/src/store/rows/microseconds.ts";

/** One read of a key of a counter by a decision. */
export interface Reading {
  readonly n: number;
  readonly micros: number | null;
  readonly since_us: number;
  readonly last: { readonly intent_id: string; readonly at_us: number } | null;
}

export interface LedgerRow {
  readonly type: string;
  readonly at_us: number;
  readonly actor: string;
  readonly intent_id: string | null;
  readonly escalation_id: string | null;
  readonly override_id: string | null;
  readonly verdict: string | null;
  readonly mode: string | null;
  readonly agent_id: string | null;
  readonly content: { readonly amount: number } | null;
  readonly counts: Readonly<Record<string, Readonly<Record<string, Reading>>>> | null;
  readonly data: {
    readonly outcome?: string;
    readonly status?: string;
    readonly escalation_id?: string;
    readonly handed_to?: string;
    readonly resumed_from?: string;
    readonly claim?: string;
    readonly modified_content?: { readonly amount: number } | null;
  };
  /** The result of the review of a decision; null: no review has ended. */
  readonly resolution: { readonly modified_content: { readonly amount: number } | null } | null;
}

interface StoredEntry {
  readonly mode: string;
  readonly name: string;
  readonly key: string | null;
  readonly intent_id: string;
  readonly at_us: number;
  readonly micros: number | null;
  readonly state: string;
}

export interface StoredCounters {
  readonly ledger: readonly LedgerRow[];
  readonly entries: readonly StoredEntry[];
  /** By mode, name and key: the names of the newest entries. */
  readonly newest: ReadonlyMap<string, string | null>;
  readonly counter_keys: number;
}

/** Reads all in one snapshot. */
export function readStored(db: Db, org_id: string): Promise<StoredCounters> {
  return db.tenant(org_id, async (query) => {
    await query("set transaction isolation level repeatable read");
    const [head] = await query<{ counter_keys: number }>(
      "select counter_keys from org_heads where org_id = $1 order by audit_seq desc limit 1",
      [org_id],
    );
    return {
      ledger: await readLedger(query, org_id),
      entries: await readEntries(query, org_id),
      newest: await readNewest(query, org_id),
      counter_keys: Number(head?.counter_keys),
    };
  });
}

async function readLedger(query: Query, org_id: string): Promise<LedgerRow[]> {
  const rows = await query<LedgerRow>(
    `select l.type, ${microseconds("l.at")} as at_us, l.actor, l.intent_id, l.escalation_id, l.override_id, l.verdict, l.mode, l.agent_id,
       l.intent -> 'submitted' -> 'payload' -> 'content' as content, l.intent -> 'counts' as counts, l.data, e.resolution
     from ledger l left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
     where l.org_id = $1 and l.intent_id is not null order by l.seq`,
    [org_id],
  );
  return rows.map((row) => ({ ...row, at_us: Number(row.at_us) }));
}

async function readEntries(query: Query, org_id: string): Promise<StoredEntry[]> {
  const rows = await query<StoredEntry>(
    `select c.mode, c.name, k.key, c.intent_id, ${microseconds("c.at")} as at_us, c.micros, c.state
     from counter_entries c left join counters k using (org_id, mode, name, key_sha)
     where c.org_id = $1 and c.state <> 'released'`,
    [org_id],
  );
  return rows.map((row) => ({
    ...row,
    at_us: Number(row.at_us),
    micros: row.micros === null ? null : Number(row.micros),
  }));
}

async function readNewest(query: Query, org_id: string): Promise<Map<string, string | null>> {
  const rows = await query<{ place: string; newest: string | null }>(
    `select k.mode || ' ' || k.name || ' ' || k.key as place, n.name as newest
     from counters k left join lateral (${newest_entry}
       where c.org_id = $1 and c.mode = k.mode and c.name = k.name and c.key_sha = k.key_sha order by c.seq desc limit 1) n on true
     where k.org_id = $1`,
    [org_id],
  );
  return new Map(rows.map(({ place, newest }) => [place, newest]));
}
