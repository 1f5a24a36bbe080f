import { usStateCodes } from "@countersign/contract";
import { callingHours, type DayHours, federalWindow, type StateCallingHours } from "./tables/calling-hours.ts";
import { copiesOf } from "./tcpa-fallback.ts";

const hour_ms = 3_600_000;
const day_ms = 86_400_000;
/** Military "states" name no place, so they are unknown. */
const MILITARY: readonly string[] = ["AA", "AE", "AP"];
const PLACES: ReadonlySet<string> = new Set(usStateCodes.filter((code) => !MILITARY.includes(code)));
const byState: ReadonlyMap<string, StateCallingHours> = new Map(callingHours.map((row) => [row.state, row]));

const hourOf = (value: unknown): number | undefined => {
  const hour = typeof value === "bigint" ? Number(value) : value;
  return typeof hour === "number" && Number.isInteger(hour) && hour >= 0 && hour <= 23 ? hour : undefined;
};

const utcHour = (now_ms: number): number => Math.floor((((now_ms % day_ms) + day_ms) % day_ms) / hour_ms);

/**
 * Returns the difference of a local clock to UTC. US zones are 4 to 11 hours behind UTC; Guam is 10 ahead. Undefined:
 * no US clock shows that hour.
 */
const offsetHours = (now_ms: number, hour: number): number | undefined => {
  const behind = (utcHour(now_ms) - hour + 24) % 24;
  if (behind >= 4 && behind <= 11) return -behind;
  return behind === 14 ? 10 : undefined;
};

const weekdayAt = (instant_ms: number): number => new Date(instant_ms).getUTCDay();

/** Returns the possible weekdays, Sunday 0: yesterday to tomorrow if no US clock shows the hour. */
const weekdays = (now_ms: number, hour: number): readonly number[] => {
  const offset = offsetHours(now_ms, hour);
  return offset === undefined
    ? [-1, 0, 1].map((days) => weekdayAt(now_ms + days * day_ms))
    : [weekdayAt(now_ms + offset * hour_ms)];
};

const within = (hour: number, hours: DayHours): boolean => hours !== null && hour >= hours[0] && hour <= hours[1];

/** Returns the rows of every state if one is unknown or none is named. */
const rowsFor = (states: readonly string[]): readonly StateCallingHours[] =>
  states.length === 0 || states.some((state) => !PLACES.has(state))
    ? callingHours
    : states.flatMap((state) => byState.get(state) ?? []);

const statesOf = (value: unknown): readonly string[] => {
  const list = typeof value === "string" ? [value] : Array.isArray(value) ? value : [];
  return [...new Set(list.map((state) => (typeof state === "string" ? state.trim().toUpperCase() : "??")))];
};

/** Collects every copy of the fact, because the most protective one must win. */
export const recipientStates = (facts: unknown): string[] => [
  ...statesOf(copiesOf(facts, "recipient_state").filter((copy) => typeof copy === "string" && copy.trim() !== "")),
];

/** Returns true if a US clock shows this hour now. Detects stale hours and server time. */
export const localHourConsistent = (now_ms: number, hour: unknown): boolean => {
  const value = hourOf(hour);
  return value !== undefined && offsetHours(now_ms, value) !== undefined;
};

/** Returns true from 08:00 to 20:59 (47 CFR 64.1200(c)(1)). */
export const inFederalWindow = (hour: unknown): boolean => {
  const value = hourOf(hour);
  return value !== undefined && within(value, federalWindow);
};

/**
 * Returns true if the federal window and every named state permit a call at this hour. Without a known state, every
 * state must permit it.
 */
export const inCallingWindow = (now_ms: number, states: unknown, hour: unknown): boolean => {
  const value = hourOf(hour);
  if (value === undefined || !within(value, federalWindow)) return false;
  const days = weekdays(now_ms, value);
  return rowsFor(statesOf(states)).every((row) => days.every((day) => within(value, row.week[day] ?? null)));
};

/**
 * Returns true if summer time may end meanwhile: on the first Sunday of November, from 06:00 UTC (east coast) to 11:00
 * UTC (Aleutians).
 */
const summerTimeEnds = (from_ms: number, to_ms: number): boolean => {
  const november = Date.UTC(new Date(to_ms).getUTCFullYear(), 10, 1);
  const sunday = november + ((7 - weekdayAt(november)) % 7) * day_ms;
  return from_ms < sunday + 11 * hour_ms && to_ms >= sunday + 6 * hour_ms;
};

/**
 * Returns when the next permitted hour begins (RFC 3339, UTC) for a local clock that shows `hour` now. "" if `hour` is
 * not an hour, or if no hour within eight days is permitted. If summer time ends meanwhile, the hour is permitted with
 * and without it. If summer time begins, the instant may be an hour late. Does not verify `hour`, so a deferred action
 * must be decided again when it is due.
 */
export const nextCallingWindow = (now_ms: number, states: unknown, hour: unknown): string => {
  const value = hourOf(hour);
  if (value === undefined || !Number.isFinite(now_ms)) return "";
  const offset = offsetHours(now_ms, value) ?? ((value - utcHour(now_ms) + 36) % 24) - 12;
  const rows = rowsFor(statesOf(states));
  const start = Math.floor(now_ms / hour_ms) * hour_ms;
  const openAt = (local: number): boolean => {
    const [there, day] = [utcHour(local), weekdayAt(local)];
    return within(there, federalWindow) && rows.every((row) => within(there, row.week[day] ?? null));
  };
  for (let ahead = 1; ahead <= 8 * 24; ahead++) {
    const instant = start + ahead * hour_ms;
    const local = instant + offset * hour_ms;
    if (openAt(local) && (!summerTimeEnds(now_ms, instant) || openAt(local - hour_ms)))
      return new Date(instant).toISOString().replace(".000Z", "Z");
  }
  return "";
};
