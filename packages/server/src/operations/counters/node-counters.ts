/**
 * Keeps the sums of earlier actions in the memory of this node. The commit compares the newest entries of the keys that a decision read, so an
 * old memory costs a second decision and never a wrong one.
 */
import { setImmediate } from "node:timers/promises";
import { limits } from "@countersign/contract";
import {
  type CountedAction,
  type CounterEntry,
  CounterHistory,
  type CountRead,
  type CountSource,
  countPlace,
  type EntryState,
  formatTimestampUs,
  type MissingCount,
  type PlacedTrack,
  parseTimestampUs,
  windowStartUs,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Db } from "../../ports.ts";
import type { CountRow, DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { keySha, readCounters, type StoredCounter, type WantedCounter } from "../../store/counters/counters.ts";
import { readAgain } from "../shared/read-again.ts";

/** Counted for a key besides its entries. */
const key_weight = 8;
/** Entries and keys of all organizations that a node keeps. An entry takes about 200 bytes. */
const weight_max = 1_000_000;
/** A key without room is read again after this time. */
const full_kept_us = 10_000_000;
const full_max = 10_000;
/** Shortest time between two attempts of this node to mail operators of one organization. */
const announced_every_us = 60_000_000;
/** After this many entries of a key, its weight is taken again. */
const weighed_every = 64;
const organizations_max = 2_000;

interface Known {
  /** Names the newest entry, after all reservations of this node that are on their way. Null: there is none. */
  last_id: string | null;
  readonly history: CounterHistory;
  /** Entries before this time are not loaded. */
  since_us: number;
  /** Decisions on their way to the commit that read or change the key. */
  in_flight: number;
  /** Resolves the waits for `in_flight` to be 0, after the key was forgotten. */
  readonly drained: (() => void)[];
}

interface Gathered {
  readonly wanted: Map<string, WantedCounter>;
  readonly done: Promise<void>;
}

/** The counters of one decision. */
export interface DecisionCounts {
  readonly source: CountSource;
  /** Returns the source without the entries of an action whose place this one takes. */
  without(intent_id: string): CountSource;
  /** Returns the rows of the commit: every key that was read and has room, with its newest entry, and the entries that the decision adds. */
  rowsFor(reads: readonly CountRead[], adds: readonly CountedAction[]): CountRow[];
}

export interface NodeCounters {
  begin(org_id: string, mode: string, now_us: number): DecisionCounts;
  /** Loads keys. Waits until decisions of this node that change them are committed. */
  load(org_id: string, mode: string, missing: readonly MissingCount[], now_us: number): Promise<void>;
  /** Waits for the turn of a decision that counts. Decisions of an organization are computed in the order of their commits. */
  turn(org_id: string): Promise<() => void>;
  /** Counts a decision that is on its way. Call the returned function with its outcome. */
  reserve(rows: DecisionRows): (is_committed: boolean) => void;
  /** Forgets the keys of a decision, because somebody else changed them. */
  forget(rows: DecisionRows): void;
  /** Whether this node may mail operators about full counters. Returns true once a minute for each organization. */
  mayAnnounce(org_id: string, now_us: number): boolean;
}

export function createNodeCounters(db: Db): NodeCounters {
  return new CounterMemory(db);
}

class CounterMemory implements NodeCounters {
  readonly #db: Db;
  readonly #known = new LRUCache<string, Known>({
    maxSize: weight_max,
    sizeCalculation: ({ history }) => key_weight + history.size,
  });
  /** Keys without room, and the times until which they have none. They may get room without a change of their entries. */
  readonly #full = new LRUCache<string, number>({ max: full_max });
  /** When this node last tried to mail the operators of an organization. */
  readonly #announced = new LRUCache<string, number>({ max: organizations_max });
  /** Forgotten keys with decisions on their way. */
  readonly #draining = new Map<string, Set<Known>>();
  /** Keys that decisions of this turn of the event loop, or of the time of a read, wait for. One statement reads them. */
  readonly #gathering = new Map<string, Gathered>();
  readonly #loads = new LRUCache<string, LimitFunction>({ max: organizations_max, memoMethod: () => pLimit(1) });
  readonly #turns = new LRUCache<string, LimitFunction>({ max: organizations_max, memoMethod: () => pLimit(1) });

  constructor(db: Db) {
    this.#db = db;
  }

  begin(org_id: string, mode: string, now_us: number): DecisionCounts {
    const newest = new Map<string, string | null>();
    const known = (track: PlacedTrack, key: string): Known | undefined =>
      this.#known.get(placeOf(org_id, mode, track.name, key));
    const sourceFor = (except: string | null): CountSource => ({
      read: (track, key, own) => {
        const place = placeOf(org_id, mode, track.name, key);
        const since_us = windowStartUs(track.window, now_us);
        if (now_us < (this.#full.get(place) ?? 0)) return { n: 0, micros: 0, since_us, last: null, full: true };
        const found = this.#known.get(place);
        if (found === undefined || since_us < found.since_us) return undefined;
        if (found.history.dropBefore(since_us)) found.since_us = since_us;
        if (found.history.size > limits.counter_actions_per_key_max) {
          this.#drop(place, found);
          return undefined;
        }
        // The first read counts: if the key changes before a second one, the commit must notice.
        const read_as = countPlace(track.name, key);
        if (!newest.has(read_as)) newest.set(read_as, found.last_id);
        return found.history.read(track, now_us, own, except);
      },
      later: {
        fallsByUs: (track, key, field, by) => known(track, key)?.history.fallsByUs(track, now_us, field, by) ?? null,
        at: (later_us) => ({
          read: (track, key, own) => known(track, key)?.history.readLater(track, now_us, later_us, own, except),
        }),
      },
    });
    return {
      source: sourceFor(null),
      without: sourceFor,
      rowsFor: (reads, adds) => rowsFor(newest, reads, adds),
    };
  }

  async load(org_id: string, mode: string, missing: readonly MissingCount[], now_us: number): Promise<void> {
    const place = `${org_id}\0${mode}`;
    let gathered = this.#gathering.get(place);
    if (gathered === undefined) {
      const wanted = new Map<string, WantedCounter>();
      const done = this.#loads.memo(place)(async () => {
        await setImmediate();
        this.#gathering.delete(place);
        await this.#load(org_id, mode, wanted, now_us);
      });
      gathered = { wanted, done };
      this.#gathering.set(place, gathered);
    }
    for (const { track, key } of missing) {
      const since_us = windowStartUs(track.window, now_us);
      gathered.wanted.set(placeOf(org_id, mode, track.name, key), { name: track.name, key, since_us });
    }
    await gathered.done;
  }

  async #load(org_id: string, mode: string, wanted: ReadonlyMap<string, WantedCounter>, now_us: number): Promise<void> {
    await Promise.all([...wanted.keys()].map((place) => this.#drained(place)));
    const keys = [...wanted.values()];
    const stored = await readAgain(this.#db, org_id, (query) => readCounters(query, org_id, mode, keys));
    [...wanted].forEach(([place, { since_us }], at) => {
      const { last_id, entries, full } = stored[at] as StoredCounter;
      // Another decision loaded the key meanwhile, and may have changed it.
      const present = this.#known.get(place);
      if (present !== undefined && present.since_us <= since_us) return;
      if (present !== undefined) this.#drop(place, present);
      if (full) {
        this.#full.set(place, now_us + full_kept_us);
        return;
      }
      this.#full.delete(place);
      const history = new CounterHistory(entries);
      this.#known.set(place, { last_id, history, since_us, in_flight: 0, drained: [] });
    });
  }

  turn(org_id: string): Promise<() => void> {
    return new Promise((resolve) => {
      void this.#turns.memo(org_id)(() => new Promise<void>((release) => resolve(release)));
    });
  }

  reserve({ org_id, entry, counts }: DecisionRows): (is_committed: boolean) => void {
    const at_us = parseTimestampUs(entry.at) ?? 0;
    const held = counts.flatMap(({ name, key, entry: added }) => {
      const place = placeOf(org_id, entry.mode, name, key);
      const found = this.#known.get(place);
      if (found === undefined) return [];
      found.in_flight += 1;
      if (added !== null) {
        found.last_id = entry.intent_id;
        found.history.add(entryOf(entry, at_us, added));
        // The memory of a node is bounded by the entries that it keeps.
        if (found.history.size % weighed_every === 0) this.#known.set(place, found);
      }
      return [{ place, found }];
    });
    return (is_committed) => {
      for (const { place, found } of held) this.#settle(place, found, is_committed);
    };
  }

  forget({ org_id, entry, counts }: DecisionRows): void {
    for (const { name, key } of counts) {
      const place = placeOf(org_id, entry.mode, name, key);
      const found = this.#known.get(place);
      if (found !== undefined) this.#drop(place, found);
    }
  }

  mayAnnounce(org_id: string, now_us: number): boolean {
    const last_us = this.#announced.get(org_id);
    if (last_us !== undefined && now_us - last_us < announced_every_us) return false;
    this.#announced.set(org_id, now_us);
    return true;
  }

  /** Forgets a key, unless another decision has read it again. */
  #drop(place: string, found: Known): void {
    if (this.#known.get(place) === found) this.#known.delete(place);
    if (found.in_flight > 0) this.#draining.set(place, (this.#draining.get(place) ?? new Set()).add(found));
  }

  /** Resolves when the decisions on their way that use a forgotten key are committed or refused. */
  async #drained(place: string): Promise<void> {
    const all = [...(this.#draining.get(place) ?? [])];
    await Promise.all(all.map((found) => new Promise<void>((resolve) => found.drained.push(resolve))));
  }

  #settle(place: string, found: Known, is_committed: boolean): void {
    found.in_flight -= 1;
    if (!is_committed) this.#drop(place, found);
    if (found.in_flight > 0) return;
    const others = this.#draining.get(place);
    others?.delete(found);
    if (others?.size === 0) this.#draining.delete(place);
    for (const resolve of found.drained.splice(0)) resolve();
  }
}

function placeOf(org_id: string, mode: string, name: string, key: string): string {
  return `${org_id}\0${mode}\0${countPlace(name, key)}`;
}

const noValues = Object.freeze({});

const stateOf = {
  approve: "approve",
  approve_modified: "approve_modified",
  escalate: "pending",
} as const satisfies Record<string, EntryState>;

function entryOf(
  { intent_id, verdict }: DecisionRows["entry"],
  at_us: number,
  added: NonNullable<CountRow["entry"]>,
): CounterEntry {
  if (verdict === "block") throw new Error("a blocked action counts nowhere");
  return {
    intent_id,
    at_us,
    micros: added.micros,
    state: stateOf[verdict],
    values: added.vals === null ? noValues : JSON.parse(added.vals),
  };
}

function rowsFor(
  newest: ReadonlyMap<string, string | null>,
  reads: readonly CountRead[],
  adds: readonly CountedAction[],
): CountRow[] {
  const added = new Map(adds.map((each) => [countPlace(each.name, each.key), each]));
  // A key without room gets no entry, and the commit verifies nothing of it. Its action is held.
  const verified = reads.filter(({ reading }) => reading.full !== true);
  return verified.map(({ track, key }) => {
    const place = countPlace(track.name, key);
    const last_id = newest.get(place);
    if (last_id === undefined) throw new Error(`${track.name} was read without its newest entry`);
    const action = added.get(place);
    return {
      name: track.name,
      key,
      key_sha: keySha(key),
      last_id,
      entry: action === undefined ? null : rowEntry(action),
    };
  });
}

function rowEntry({ micros, values, ends_us }: CountedAction): NonNullable<CountRow["entry"]> {
  const vals = Object.keys(values).length === 0 ? null : JSON.stringify(values);
  return { micros, vals, ends_at: formatTimestampUs(ends_us) };
}
