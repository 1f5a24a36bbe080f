import type { CountSource, LaterCounts } from "./counting.ts";
import type { CounterReading } from "./history.ts";
import type { PlacedTrack } from "./tracks.ts";

/** One read of a counter by a decision. */
export interface CountRead {
  readonly track: PlacedTrack;
  readonly key: string;
  readonly reading: CounterReading;
}

/** A key that a decision asked for, and that was not loaded. */
export interface MissingCount {
  readonly track: PlacedTrack;
  readonly key: string;
}

/** Keeps what a decision read, and what it missed. */
export class CountReads implements CountSource {
  readonly #source: CountSource;
  readonly #reads = new Map<string, CountRead>();
  readonly #missing = new Map<string, MissingCount>();

  constructor(source: CountSource) {
    this.#source = source;
  }

  read(track: PlacedTrack, key: string, own: Readonly<Record<string, string>>): CounterReading | undefined {
    const reading = this.#source.read(track, key, own);
    const place = countPlace(track.name, key);
    if (reading === undefined) this.#missing.set(place, { track, key });
    else this.#reads.set(place, { track, key, reading });
    return reading;
  }

  /** Reads of later times are not kept. */
  get later(): LaterCounts | undefined {
    return this.#source.later;
  }

  get reads(): readonly CountRead[] {
    return [...this.#reads.values()];
  }

  get missing(): readonly MissingCount[] {
    return [...this.#missing.values()];
  }
}

/** Distinguishes the keys of all counters. */
export function countPlace(name: string, key: string): string {
  return `${name}\0${key}`;
}

/** The reads of a recorded decision, as JSON. */
export type RecordedCounts = Readonly<Record<string, Readonly<Record<string, CounterReading>>>>;

export function recordedCounts(reads: readonly CountRead[]): RecordedCounts | undefined {
  if (reads.length === 0) return undefined;
  const recorded: Record<string, Record<string, CounterReading>> = {};
  for (const { track, key, reading } of reads) {
    const ofTrack = recorded[track.name] ?? {};
    ofTrack[key] = reading;
    recorded[track.name] = ofTrack;
  }
  return recorded;
}

/** Gives a later evaluation of a recorded decision what the decision read. What it did not read is not loaded. */
export function countsOfRecord(recorded: RecordedCounts | undefined): CountSource {
  return { read: ({ name }, key) => recorded?.[name]?.[key] };
}
