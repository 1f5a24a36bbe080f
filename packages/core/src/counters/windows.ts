import { DateTime } from "luxon";
import type { CounterWindow } from "./definition.ts";

interface Period {
  readonly start_us: number;
  readonly end_us: number;
}

/** The latest period of each unit and zone. Finding a period in a time zone takes microseconds, and most actions are in the latest one. */
const latest = new Map<string, Period>();
const us_per_ms = 1000;

/** Returns the earliest time that counts at `now_us`, inclusive. */
export function windowStartUs(window: CounterWindow, now_us: number): number {
  return window.kind === "sliding" ? now_us - window.us + 1 : periodOf(window.unit, window.zone, now_us).start_us;
}

/** Returns the first time at which an action of `at_us` no longer counts. */
export function windowEndUs(window: CounterWindow, at_us: number): number {
  return window.kind === "sliding" ? at_us + window.us : periodOf(window.unit, window.zone, at_us).end_us;
}

/** Weeks begin on Monday. The zone is a valid IANA zone. */
function periodOf(unit: "hour" | "day" | "week" | "month", zone: string, at_us: number): Period {
  const name = `${unit} ${zone}`;
  const known = latest.get(name);
  if (known !== undefined && at_us >= known.start_us && at_us < known.end_us) return known;
  const start = DateTime.fromMillis(Math.floor(at_us / us_per_ms), { zone }).startOf(unit);
  const end = start.plus({ [unit]: 1 }).startOf(unit);
  const period = { start_us: start.toMillis() * us_per_ms, end_us: end.toMillis() * us_per_ms };
  latest.set(name, period);
  return period;
}
