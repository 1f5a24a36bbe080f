import { countPlace } from "../counters/count-reads.ts";
import type { CountedAction } from "../counters/counted.ts";
import type { CountSource } from "../counters/counting.ts";
import type { CounterWindow, Track } from "../counters/definition.ts";
import { CounterHistory, type EntryState } from "../counters/history.ts";
import { windowStartUs } from "../counters/windows.ts";
import { faultAt } from "../fault.ts";
import { us_per_second } from "../time.ts";
import { TimedQueue } from "./timed-queue.ts";

/** A recorded event after the decision that changes how its action counts. */
export type CountChange =
  /** People or a timeout let the action through. It counts from then on, with the content that they approved. */
  | {
      readonly at_us: number;
      readonly to: "approve" | "approve_modified";
      readonly counted: readonly CountedAction[];
    }
  /** `released`: blocked, cancelled or revoked. `failed` and `executed` are trusted reports about an approved action. */
  | { readonly at_us: number; readonly to: "released" | "failed" | "executed" };

interface SimulatedAction {
  readonly intent_id: string;
  readonly mode: string;
  readonly at_us: number;
}

/** How an action with later changes counts now. */
interface Standing {
  readonly intent_id: string;
  readonly mode: string;
  state: EntryState;
  places: readonly string[];
}

/** Entries and later changes that are kept. A key weighs as much as `key_weight` entries. */
const weight_max = 3_000_000;
/** A key takes about 850 bytes with its first entry, each further entry 220. */
const key_weight = 3;
const swept_min = 100_000;
/** The clocks of nodes differ, so a later action may have an earlier time. */
const slack_us = 60 * us_per_second;

const nothing = new CounterHistory();
const afterReport = {
  failed: { approve: "failed", approve_modified: "failed_modified" },
  executed: { failed: "approve", failed_modified: "approve_modified" },
} as const satisfies Record<string, Partial<Record<EntryState, EntryState>>>;

/** The counters of a backtest with a candidate: what earlier actions add up to under the candidate's policies. */
export class SimulatedCounts {
  readonly #weight_max: number;
  readonly #histories = new Map<string, CounterHistory>();
  /** By name. Policy sets of different times may define a counter differently. */
  readonly #windows = new Map<string, Map<string, CounterWindow>>();
  readonly #later = new TimedQueue<{ readonly standing: Standing; readonly change: CountChange }>();
  #weight = 0;
  #next_sweep: number;

  /** `weight`: tests only. */
  constructor(weight: number = weight_max) {
    this.#weight_max = weight;
    this.#next_sweep = Math.min(swept_min, weight);
  }

  /** Returns what an action of this mode reads at this time. Call `advance` first. */
  sourceFor(mode: string, now_us: number): CountSource {
    return {
      read: (track, key, own) =>
        (this.#histories.get(placeOf(mode, track.name, key)) ?? nothing).read(track, now_us, own, null),
    };
  }

  /** Applies the changes up to this time. */
  advance(now_us: number): void {
    for (let due = this.#later.takeUntil(now_us); due !== null; due = this.#later.takeUntil(now_us)) {
      this.#weight -= 1;
      this.#apply(due.standing, due.change);
    }
  }

  /**
   * Counts an action from its time on, and changes it when the times of `changes` have come. `tracks`: those of its
   * policy set. Fault: invalid_request (the counters take too much memory).
   */
  count(
    action: SimulatedAction,
    tracks: ReadonlyMap<string, Track>,
    state: EntryState,
    counted: readonly CountedAction[],
    changes: readonly CountChange[],
  ): void {
    for (const { name } of counted) this.#noteWindow(name, tracks.get(name));
    for (const change of changes)
      if ("counted" in change) for (const { name } of change.counted) this.#noteWindow(name, tracks.get(name));
    if (this.#weight >= this.#next_sweep) this.#sweep(action.at_us);
    const { intent_id, mode, at_us } = action;
    const standing: Standing = { intent_id, mode, state, places: [] };
    standing.places = this.#add(standing, at_us, state, counted);
    for (const change of changes) {
      this.#later.push(change.at_us, { standing, change });
      this.#weight += 1;
    }
  }

  #add({ intent_id, mode }: Standing, at_us: number, state: EntryState, counted: readonly CountedAction[]): string[] {
    return counted.map(({ name, key, micros, values }) => {
      const place = placeOf(mode, name, key);
      let history = this.#histories.get(place);
      if (history === undefined) {
        history = new CounterHistory();
        this.#histories.set(place, history);
        this.#weight += key_weight;
      }
      history.add({ intent_id, at_us, micros, state, values });
      this.#weight += 1;
      return place;
    });
  }

  #apply(standing: Standing, change: CountChange): void {
    const { intent_id } = standing;
    if (change.to === "failed" || change.to === "executed") {
      const next: Partial<Record<EntryState, EntryState>> = afterReport[change.to];
      const state = next[standing.state];
      if (state === undefined) return;
      standing.state = state;
      for (const place of standing.places) this.#histories.get(place)?.change(intent_id, { state });
      return;
    }
    for (const place of standing.places) this.#release(place, intent_id);
    standing.places = [];
    if (!("counted" in change)) return;
    standing.state = change.to;
    standing.places = this.#add(standing, change.at_us, change.to, change.counted);
  }

  #release(place: string, intent_id: string): void {
    const history = this.#histories.get(place);
    if (history === undefined) return;
    const { size } = history;
    history.change(intent_id, null);
    this.#weight -= size - history.size;
  }

  #noteWindow(name: string, track: Track | undefined): void {
    if (track === undefined) return;
    const known = this.#windows.get(name);
    if (known === undefined) this.#windows.set(name, new Map([[track.text, track.window]]));
    else if (!known.has(track.text)) known.set(track.text, track.window);
  }

  /** Drops what no later action reads. */
  #sweep(now_us: number): void {
    const starts = new Map(
      [...this.#windows].map(([name, windows]) => [
        name,
        Math.min(...[...windows.values()].map((window) => windowStartUs(window, now_us - slack_us))),
      ]),
    );
    this.#weight = this.#later.size;
    for (const [place, history] of this.#histories) {
      const start_us = starts.get(place.split(separator, 2)[1] as string) ?? Number.NEGATIVE_INFINITY;
      const kept = history.entries.filter(({ at_us }) => at_us >= start_us);
      if (kept.length === 0) this.#histories.delete(place);
      else {
        if (kept.length < history.size) this.#histories.set(place, new CounterHistory(kept));
        this.#weight += key_weight + kept.length;
      }
    }
    if (this.#weight >= this.#weight_max) throw tooMuch(this.#weight_max);
    this.#next_sweep = Math.min(Math.max(swept_min, 2 * this.#weight), this.#weight_max);
  }
}

const separator = "\0";

function placeOf(mode: string, name: string, key: string): string {
  return `${mode}${separator}${countPlace(name, key)}`;
}

function tooMuch(weight: number) {
  const message =
    `The counters have more than ${weight} entries within their windows, or more than ` +
    `${Math.floor(weight / (key_weight + 1))} keys. Choose shorter windows of counters, keys with fewer values, or a shorter backtest.`;
  return faultAt("invalid_request", "/window", "out_of_range", message);
}
