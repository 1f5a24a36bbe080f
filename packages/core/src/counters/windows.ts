import { DateTime } from "luxon";
import { us_per_second } from "../time.ts";
import type { CalendarUnit, CounterWindow } from "./definition.ts";

interface Period {
  readonly start_us: number;
  readonly end_us: number;
}

/** The latest period of each unit and zone. Finding a period in a time zone takes microseconds, and most actions are in the latest one. */
const latest = new Map<string, Period>();
const us_per_ms = 1000;
const us_per_hour = 3_600 * us_per_second;

/** Returns the earliest time that counts at `now_us`, inclusive. */
export function windowStartUs(window: CounterWindow, now_us: number): number {
  return window.kind === "sliding" ? now_us - window.us + 1 : periodOf(window.unit, window.zone, now_us).start_us;
}

/** Returns the first time at which an action of `at_us` no longer counts. */
export function windowEndUs(window: CounterWindow, at_us: number): number {
  return window.kind === "sliding" ? at_us + window.us : periodOf(window.unit, window.zone, at_us).end_us;
}

/** Weeks begin on Monday. The zone is a valid IANA zone. */
function periodOf(unit: CalendarUnit, zone: string, at_us: number): Period {
  const name = `${unit} ${zone}`;
  const known = latest.get(name);
  if (known !== undefined && at_us >= known.start_us && at_us < known.end_us) return known;
  const period = unit === "hour" ? hourOf(zone, at_us) : daysOf(unit, zone, at_us);
  latest.set(name, period);
  return period;
}

/** Counts hours from the beginning of the day, because clocks may shift by half an hour. Then the last hour of the day is shorter. */
function hourOf(zone: string, at_us: number): Period {
  const day = periodOf("day", zone, at_us);
  const start_us = at_us - ((at_us - day.start_us) % us_per_hour);
  return { start_us, end_us: Math.min(start_us + us_per_hour, day.end_us) };
}

function daysOf(unit: "day" | "week" | "month", zone: string, at_us: number): Period {
  const start = beginOf(DateTime.fromMillis(Math.floor(at_us / us_per_ms), { zone }), unit);
  const end = beginOf(start.plus({ [unit]: 1 }), unit);
  return { start_us: start.toMillis() * us_per_ms, end_us: end.toMillis() * us_per_ms };
}

/** Returns the first of two midnights, where clocks are set back to 0:00. */
function beginOf(time: DateTime, unit: "day" | "week" | "month"): DateTime {
  const start = time.startOf(unit);
  const before = start.minus({ milliseconds: 1 });
  return before.day === start.day ? before.startOf("day") : start;
}
