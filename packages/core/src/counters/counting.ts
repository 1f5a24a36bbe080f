import {
  type EvaluationContext,
  isAbsence,
  type LazyObject,
  lazy,
  nullFact,
  type Program,
  type Thunk,
  Timestamp,
  Unknown,
  unknown,
} from "@countersign/cel";
import { foldName, limits } from "@countersign/contract";
import type { ActionKey } from "../policy/action-index.ts";
import { us_per_second } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";
import { jsonValue } from "../values/json-value.ts";
import { amountOf, micros_per_unit, microsOf } from "./amount.ts";
import type { CounterReading } from "./history.ts";
import type { PlacedTrack, Tracks } from "./tracks.ts";

/** Gives decisions the sums of earlier actions. */
export interface CountSource {
  /**
   * Returns what the earlier actions of a key add up to. Undefined: not loaded yet; the caller loads it and decides again. `own`: hashes of
   * the action's values whose distinct ones are counted, by expression.
   */
  read(track: PlacedTrack, key: string, own: Readonly<Record<string, string>>): CounterReading | undefined;
  /** Absent: not known, as for recorded decisions. */
  readonly later?: LaterCounts | undefined;
}

/** Says how sums fall because earlier actions leave their windows, if no other action counts. */
export interface LaterCounts {
  /** See `CounterHistory.fallsByUs`. Null also for a key that is not loaded. */
  fallsByUs(track: PlacedTrack, key: string, field: "n" | "micros", by: number): number | null;
  /** Returns the sums at a later time. */
  at(later_us: number): CountSource;
}

/** Nothing was counted before. */
export const nothingCounted: CountSource = { read: () => ({ n: 0, micros: 0, since_us: 0, last: null }) };

/** The parts of a view that `count` and `after` are computed from. */
export interface Counting {
  readonly source: CountSource;
  readonly tracks: Tracks;
  readonly key: ActionKey;
}

/** The bindings that hold it. No expression can name it. */
interface CountBindings {
  readonly counting: Counting;
}

/** How one action counts in one track. */
export interface OwnCount {
  readonly key: string | Unknown;
  /** In millionths. */
  readonly micros: number | Unknown;
  readonly values: Readonly<Record<string, string>>;
}

/** Computes how the action of this evaluation counts in a track. */
export function ownCount(track: PlacedTrack, context: EvaluationContext): OwnCount {
  const values: Record<string, string> = {};
  for (const [source, program] of track.fields) {
    const value = resolved(program, context);
    if (!(value instanceof Unknown)) values[source] = sha256Hex(canonicalJson(folded(value))).slice(0, 16);
  }
  return { key: keyOf(track, context), micros: microsFor(track, context), values };
}

function keyOf({ name, key }: PlacedTrack, context: EvaluationContext): string | Unknown {
  const parts: unknown[] = [];
  for (const program of key) {
    const value = resolved(program, context);
    if (value instanceof Unknown) return value;
    parts.push(value);
  }
  return keyText(parts) ?? unknown(name, "key too long");
}

/** Returns the canonical text of the values of a key; null: it is too long. Throws TypeError for half of a surrogate pair. */
export function keyText(values: readonly unknown[]): string | null {
  const text = canonicalJson(values.map(folded));
  return text.length > limits.counter_key_chars_max ? null : text;
}

/** Case and compatibility forms of a text do not count, as in names, so that no spelling begins a new counter. */
function folded(value: unknown): unknown {
  return typeof value === "string" ? foldName(value) : value;
}

function microsFor({ name, value, negative }: PlacedTrack, context: EvaluationContext): number | Unknown {
  if (value === null) return micros_per_unit;
  const amount = resolved(value, context);
  if (amount instanceof Unknown) return amount;
  const micros = microsOf(amount);
  if (micros === null) return unknown(name, "no amount of at most six decimals");
  return micros < 0 && !negative ? unknown(name, "negative") : micros;
}

/** Returns the JSON value of a program, or why it has none. */
function resolved(program: Program, context: EvaluationContext): unknown {
  const result = program.evaluateIn(context);
  if (result.kind === "unknown") return new Unknown(result.unknowns);
  const json = result.kind === "value" ? jsonValue(result.value) : undefined;
  return json === undefined ? unknown(program.source, "type") : json;
}

/** Creates `count` and `after` for one view: their fields are computed when they are first read. */
export function countVariables(tracks: Tracks): { readonly count: Thunks; readonly after: Thunks } {
  const count: [string, Thunk<EvaluationContext>][] = [];
  const after: [string, Thunk<EvaluationContext>][] = [];
  for (const track of tracks.byName.values()) {
    const name = track.name.slice(track.name.indexOf(".") + 1);
    if (track.kind === "count") count.push([name, (context) => countValue(track, context)]);
    else after.push([name, (context) => afterValue(track, context)]);
  }
  return { count: new Map(count), after: new Map(after) };
}

type Thunks = ReadonlyMap<string, Thunk<EvaluationContext>>;

/** Returns fresh lazy objects over the thunks of a set. */
export function lazyCounts({ count, after }: { readonly count: Thunks; readonly after: Thunks }): {
  readonly count: LazyObject<never>;
  readonly after: LazyObject<never>;
} {
  return { count: lazy(count) as unknown as LazyObject<never>, after: lazy(after) as unknown as LazyObject<never> };
}

/** One counter as a view reads it. */
export interface TrackRead {
  readonly key: string;
  readonly own: OwnCount;
  readonly reading: CounterReading;
  /** Whether the action itself counts. */
  readonly applies: boolean;
}

/** Reads a counter for the action of this evaluation. */
export function readTrack(track: PlacedTrack, context: EvaluationContext): TrackRead | Unknown {
  const { source, tracks, key } = (context.bindings as unknown as CountBindings).counting;
  if (track.conflicts) return unknown(track.name, "defined differently by two policies");
  const own = ownCount(track, context);
  if (own.key instanceof Unknown) return own.key;
  const reading = source.read(track, own.key, own.values);
  if (reading === undefined) return unknown(track.name, "not loaded");
  if (reading.full) return unknown(track.name, "full");
  return { key: own.key, own, reading, applies: tracks.appliedTo(key).includes(track) };
}

function countValue(track: PlacedTrack, context: EvaluationContext): unknown {
  const read = readTrack(track, context);
  if (read instanceof Unknown) return read;
  const { own, reading, applies } = read;
  const distinct = Object.fromEntries(
    [...track.fields.keys()].map((field) => {
      const known = reading.distinct?.[field] ?? { n: 0, has_own: false };
      if (applies && own.values[field] === undefined) return [field, unknown(field, "missing")];
      return [field, known.n + (applies && !known.has_own ? 1 : 0)];
    }),
  );
  return {
    n: reading.n + (applies ? 1 : 0),
    sum: sumOf(track, read),
    since: timestampOf(reading.since_us),
    distinct,
  };
}

function sumOf(track: PlacedTrack, { own, reading, applies }: TrackRead): number | Unknown {
  if (reading.micros === null) return unknown(`${track.name}.sum`, "an action without an amount counts");
  if (!applies) return amountOf(reading.micros);
  if (own.micros instanceof Unknown) return own.micros;
  const sum = amountOf(reading.micros + own.micros);
  return Math.abs(sum) > limits.counter_amount_max ? unknown(`${track.name}.sum`, "too large") : sum;
}

function afterValue(track: PlacedTrack, context: EvaluationContext): unknown {
  const read = readTrack(track, context);
  // `has` is false for what is missing. A missing part of the key must not look like no earlier action.
  if (isAbsence(read)) return new Unknown((read as Unknown).causes.map(({ path }) => ({ path, reason: "no key" })));
  if (read instanceof Unknown) return read;
  const { last } = read.reading;
  if (last === null) return nullFact(track.name);
  return { id: last.intent_id, at: timestampOf(last.at_us) };
}

function timestampOf(us: number): Timestamp {
  const seconds = Math.floor(us / us_per_second);
  return new Timestamp(seconds, (us - seconds * us_per_second) * 1000);
}
