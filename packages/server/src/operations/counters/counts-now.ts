import {
  CounterHistory,
  type CounterReading,
  type CountSource,
  countPlace,
  type MissingCount,
  type PlacedTrack,
  windowStartUs,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readCounters } from "../../store/counters/counters.ts";

/** An action whose counters are read again. Its own entries, under one or more intents, do not count as earlier ones. */
interface CountedNow {
  readonly org_id: string;
  readonly mode: string;
  readonly own: readonly string[];
  readonly now_us: number;
}

/** Counters as they are now. Exact if read under the lock of the organization's head. */
export class CountsNow implements CountSource {
  readonly #action: CountedNow;
  readonly #loaded = new Map<string, { readonly history: CounterHistory; readonly full: boolean }>();
  readonly #missing = new Map<string, MissingCount>();

  constructor(action: CountedNow) {
    this.#action = action;
  }

  read(track: PlacedTrack, key: string, own: Readonly<Record<string, string>>): CounterReading | undefined {
    const place = countPlace(track.name, key);
    const found = this.#loaded.get(place);
    if (found === undefined) {
      this.#missing.set(place, { track, key });
      return undefined;
    }
    const reading = found.history.read(track, this.#action.now_us, own, null);
    return found.full ? { ...reading, full: true } : reading;
  }

  /** Returns the result of `evaluate` after all keys that it reads are loaded. */
  async settle<T>(query: Query, evaluate: () => T): Promise<T> {
    for (;;) {
      const result = evaluate();
      if (this.#missing.size === 0) return result;
      await this.#load(query);
    }
  }

  async #load(query: Query): Promise<void> {
    const { org_id, mode, own, now_us } = this.#action;
    const missing = [...this.#missing.entries()];
    this.#missing.clear();
    const wanted = missing.map(([, { track, key }]) => {
      return { name: track.name, key, since_us: windowStartUs(track.window, now_us) };
    });
    const stored = await readCounters(query, org_id, mode, wanted, own);
    for (const [at, { entries, full }] of stored.entries()) {
      const [place] = missing[at] as (typeof missing)[number];
      this.#loaded.set(place, { history: new CounterHistory(entries), full });
    }
  }
}
