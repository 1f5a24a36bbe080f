import { type Counter, foldName, type PipelineMode } from "@countersign/contract";
import {
  amountOf,
  CounterHistory,
  type CounterInForce,
  countersInForce,
  type EntryState,
  formatTimestampUs,
  type PlacedTrack,
  windowStartUs,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readCounters, type StoredCounter } from "../../store/counters/counters.ts";
import { type ListedKey, listCounterKeys } from "../../store/counters/list-counters.ts";
import { decodeCursor, type Page, page } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { currentMembrane } from "../shared/current-rules.ts";
import type { DecidingMembrane } from "../shared/node-services.ts";

const isPlace = (place: string): boolean => /^count\.[a-z0-9_]{1,64} [0-9a-f]{32}$/.test(place);

/** Lists the keys of the counters of a membrane with their present sums. Faults: not_found (the membrane). */
export async function listCounters(
  { db, clock, orgStates }: Pick<Runtime, "db" | "clock" | "orgStates">,
  { org_id }: Pick<Caller, "org_id">,
  filter: {
    readonly membrane_id?: string;
    readonly mode?: PipelineMode;
    readonly name?: string;
    readonly agent_id?: string;
  },
  limit: number,
  cursor: string | undefined,
): Promise<Page<Counter>> {
  const place = decodeCursor(cursor, isPlace);
  const membrane = await currentMembrane({ orgStates }, org_id, filter.membrane_id);
  const { byName } = membrane.policySet.tracks;
  const wanted = filter.name === undefined ? [...byName.keys()] : [`count.${filter.name}`];
  const names = wanted.filter((name) => byName.get(name)?.kind === "count");
  const mode = filter.mode ?? "live";
  const agents = filter.agent_id === undefined ? null : [foldName(filter.agent_id)];
  const [name = "", key_sha = ""] = place?.split(" ") ?? [];
  const after = place === null ? null : { name, key_sha };
  const now_us = clock.now_us();
  return db.tenant(org_id, async (query) => {
    const keys = await listCounterKeys(query, org_id, { mode, names, agents }, after, limit + 1);
    const found = page(keys, limit, (row) => `${row.name} ${row.key_sha}`);
    return { ...found, rows: await showKeys(query, org_id, membrane, mode, found.rows, now_us) };
  });
}

/** Returns keys of counters of a membrane as they count at `now_us`. */
export async function showKeys(
  query: Query,
  org_id: string,
  { policySet }: DecidingMembrane,
  mode: PipelineMode,
  keys: readonly ListedKey[],
  now_us: number,
): Promise<Counter[]> {
  const tracks = keys.map(({ name }) => policySet.tracks.byName.get(name) as PlacedTrack);
  const since = tracks.map(({ window }) => windowStartUs(window, now_us));
  const read = keys.map(({ name, key }, at) => ({ name, key, since_us: since[at] as number }));
  const stored = await readCounters(query, org_id, mode, read);
  const inForce = countersInForce(policySet, now_us);
  return keys.map((row, at) => {
    const counts = shownCounter(row, mode, tracks[at] as PlacedTrack, stored[at] as StoredCounter, now_us);
    return { ...counts, ...(inForce.get(counts.name) as CounterInForce) };
  });
}

function shownCounter(
  { name, key, agent_id, requested }: ListedKey,
  pipeline_mode: PipelineMode,
  track: PlacedTrack,
  { entries }: StoredCounter,
  now_us: number,
): Omit<Counter, keyof CounterInForce> {
  const all = new CounterHistory(entries).read(track, now_us, {}, null);
  const only = (wanted: EntryState) =>
    new CounterHistory(entries.filter(({ state }) => state === wanted)).read(track, now_us, {}, null);
  const [waiting, granted] = [only("pending"), only("granted")];
  return {
    name: name.slice("count.".length),
    key: JSON.parse(key),
    pipeline_mode,
    agent_id,
    n: all.n,
    sum: all.micros === null ? null : amountOf(all.micros),
    waiting_n: waiting.n,
    waiting_sum: waiting.micros === null ? null : amountOf(waiting.micros),
    granted_n: -granted.n,
    granted_sum: -amountOf(granted.micros ?? 0),
    since: formatTimestampUs(all.since_us),
    last_at: all.last === null ? null : formatTimestampUs(all.last.at_us),
    requested,
  };
}
