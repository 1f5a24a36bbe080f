import { type CountedState, countedStates, type Track } from "./definition.ts";
import { windowEndUs, windowStartUs } from "./windows.ts";

/**
 * The state of a counted action: approved as submitted or modified, waits for people, or failed after its approval. A released action
 * has no entry. `granted`: no action, but an operator's grant of more.
 */
export type EntryState = "approve" | "approve_modified" | "pending" | "failed" | "failed_modified" | "granted";

/** One counted action of one key, or a grant of more. */
export interface CounterEntry {
  /** Of a grant: its audit record. */
  readonly intent_id: string;
  readonly at_us: number;
  /** In millionths; null: the action has no usable amount. */
  readonly micros: number | null;
  /** Of a grant: below zero, or 0. Default: 1. */
  readonly actions?: number;
  readonly state: EntryState;
  /** Hashes of the values whose distinct ones are counted, by expression. */
  readonly values: Readonly<Record<string, string>>;
}

/** The sum of the earlier actions of one key. Plain JSON, recorded with the decision. */
export interface CounterReading {
  /** Grants are taken off, also from the sum. */
  readonly n: number;
  /** In millionths; null: an action without a usable amount counts. */
  readonly micros: number | null;
  readonly since_us: number;
  /** For each expression: the number of distinct values, and whether the action's own value is one of them. */
  readonly distinct?: Readonly<Record<string, { readonly n: number; readonly has_own: boolean }>>;
  /** The latest action. Never a grant. */
  readonly last: { readonly intent_id: string; readonly at_us: number } | null;
  /** The key is new, and the organization or the agent has as many keys as it may. Or too many actions count in the key. */
  readonly full?: true;
}

const counted: Readonly<Record<EntryState, readonly CountedState[]>> = {
  approve: ["approve", "executed"],
  approve_modified: ["approve_modified", "executed"],
  pending: ["pending"],
  failed: ["approve"],
  failed_modified: ["approve_modified"],
  granted: countedStates,
};

/** Whether a counter counts an entry in this state. */
export function countsState({ counts }: Pick<Track, "counts">, state: EntryState): boolean {
  return counted[state].some((name) => counts.has(name));
}

/** The counted entries of one window, kept up to date from read to read. */
interface Window {
  since_us: number;
  /** The first entry of the window, and the first one that is not yet counted. */
  first: number;
  next: number;
  n: number;
  micros: number;
  /** Entries without a usable amount. */
  unusable: number;
}

/** The entries of one key, in the order of their times. A read of a window costs what changed since its last read. */
export class CounterHistory {
  #entries: CounterEntry[] = [];
  /** By the text of the track. */
  readonly #windows = new Map<string, Window>();

  constructor(entries: readonly CounterEntry[] = []) {
    for (const entry of entries) this.add(entry);
  }

  get size(): number {
    return this.#entries.length;
  }

  get entries(): readonly CounterEntry[] {
    return this.#entries;
  }

  add(entry: CounterEntry): void {
    const last = this.#entries.at(-1);
    if (last === undefined || last.at_us <= entry.at_us) {
      this.#entries.push(entry);
      return;
    }
    let place = this.#entries.length;
    while (place > 0 && (this.#entries[place - 1] as CounterEntry).at_us > entry.at_us) place -= 1;
    this.#entries.splice(place, 0, entry);
    this.#windows.clear();
  }

  /** Changes the entries of an action; null removes them. */
  change(intent_id: string, change: Partial<CounterEntry> | null): void {
    const found = this.#entries.filter((entry) => entry.intent_id === intent_id);
    if (found.length === 0) return;
    this.#entries = this.#entries.filter((entry) => entry.intent_id !== intent_id);
    this.#windows.clear();
    if (change !== null) for (const entry of found) this.add({ ...entry, ...change });
  }

  /** Forgets entries that no read needs any more. Does nothing until they are many. Returns whether it did. */
  dropBefore(at_us: number): boolean {
    const many = this.#entries[dropped_min];
    if (many === undefined || many.at_us >= at_us) return false;
    this.#entries = this.#entries.filter((entry) => entry.at_us >= at_us);
    this.#windows.clear();
    return true;
  }

  /** Sums up the window at `now_us`. `except`: an action that does not count as an earlier one. */
  read(track: Track, now_us: number, own: Readonly<Record<string, string>>, except: string | null): CounterReading {
    return this.#readingOf(track, this.#windowOf(track, windowStartUs(track.window, now_us)), own, except);
  }

  /** Returns what `read` will return at a later time if no other action counts until then. */
  readLater(
    track: Track,
    now_us: number,
    later_us: number,
    own: Readonly<Record<string, string>>,
    except: string | null,
  ): CounterReading {
    const window = { ...this.#windowOf(track, windowStartUs(track.window, now_us)) };
    this.#leave(window, track, windowStartUs(track.window, later_us));
    return this.#readingOf(track, window, own, except);
  }

  #readingOf(
    track: Track,
    window: Readonly<Window>,
    own: Readonly<Record<string, string>>,
    except: string | null,
  ): CounterReading {
    const left_out =
      except === null ? [] : this.#countedFrom(track, window.first).filter((each) => each.intent_id === except);
    let { n, micros, unusable } = window;
    for (const { micros: amount, actions = 1 } of left_out) {
      n -= actions;
      if (amount === null) unusable -= 1;
      else micros -= amount;
    }
    const reading = {
      n,
      micros: unusable > 0 ? null : micros,
      since_us: window.since_us,
      last: this.#lastOf(track, window.first, except),
    };
    const fields = Object.keys(own);
    if (fields.length === 0) return reading;
    const counted = this.#countedFrom(track, window.first).filter((each) => each.intent_id !== except);
    return {
      ...reading,
      distinct: Object.fromEntries(fields.map((field) => [field, distinctOf(counted, field, own)])),
    };
  }

  #windowOf(track: Track, since_us: number): Window {
    let window = this.#windows.get(track.text);
    if (window === undefined || window.since_us > since_us) {
      window = { since_us, first: 0, next: 0, n: 0, micros: 0, unusable: 0 };
      this.#windows.set(track.text, window);
    }
    for (; window.next < this.#entries.length; window.next += 1) count(window, track, this.#at(window.next), 1);
    this.#leave(window, track, since_us);
    // Above 2^53 a sum is not exact, so it is not kept.
    if (!Number.isSafeInteger(window.micros)) this.#windows.delete(track.text);
    return window;
  }

  /** Moves the begin of a window, whose entries are all counted, to a later time. */
  #leave(window: Window, track: Track, since_us: number): void {
    window.since_us = since_us;
    for (; window.first < this.#entries.length && this.#at(window.first).at_us < since_us; window.first += 1)
      count(window, track, this.#at(window.first), -1);
  }

  #at(place: number): CounterEntry {
    return this.#entries[place] as CounterEntry;
  }

  #countedFrom(track: Track, first: number): CounterEntry[] {
    return this.#entries.slice(first).filter(({ state }) => countsState(track, state));
  }

  #lastOf(track: Track, first: number, except: string | null): CounterReading["last"] {
    for (let place = this.#entries.length - 1; place >= first; place -= 1) {
      const { intent_id, at_us, state } = this.#at(place);
      if (intent_id !== except && state !== "granted" && countsState(track, state)) return { intent_id, at_us };
    }
    return null;
  }

  /**
   * Returns the time at which the number or the sum has fallen by `by`, because entries leave the window; null: never. `by` is above 0,
   * and in millionths for the sum.
   */
  fallsByUs(track: Track, now_us: number, field: "n" | "micros", by: number): number | null {
    const window = { ...this.#windowOf(track, windowStartUs(track.window, now_us)) };
    const begin = window[field];
    for (; window.first < this.#entries.length; window.first += 1) {
      const entry = this.#at(window.first);
      count(window, track, entry, -1);
      if (begin - window[field] >= by) return windowEndUs(track.window, entry.at_us);
    }
    return null;
  }
}

const dropped_min = 1_024;

function count(window: Window, track: Track, { state, micros, actions = 1 }: CounterEntry, sign: 1 | -1): void {
  if (!countsState(track, state)) return;
  window.n += sign * actions;
  if (micros === null) window.unusable += sign;
  else window.micros += sign * micros;
}

function distinctOf(counted: readonly CounterEntry[], field: string, own: Readonly<Record<string, string>>) {
  const values = new Set(counted.flatMap((entry) => entry.values[field] ?? []));
  return { n: values.size, has_own: values.has(own[field] as string) };
}
