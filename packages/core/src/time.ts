const timestampPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Times in core are whole microseconds since 1970 (safe until 2255). */
export const us_per_second = 1_000_000;

const seconds_per_day = 86_400;

/**
 * Returns by how much a clock is at least ahead of another one, or negative if behind. `read` is the other clock's
 * time, read during the round trip from `asked` to `answered`. The trip itself never counts as a difference. All in one
 * unit.
 */
export function aheadAtLeast(asked: number, read: number, answered: number): number {
  return asked > read ? asked - read : Math.min(0, answered - read);
}

export const us_per_hour = 3_600_000_000;

export const us_per_day: number = seconds_per_day * us_per_second;

const seconds_min = Date.parse("0000-01-01T00:00:00Z") / 1000;
const seconds_max = Date.parse("9999-12-31T23:59:59Z") / 1000;

/**
 * Parses an RFC 3339 date-time to microseconds since 1970. Returns null for anything else, for dates not in the
 * calendar, and outside the years 0000 to 9999 UTC. Truncates digits beyond the sixth. A leap second counts as the last
 * microsecond of its minute, and is only valid at the end of a UTC day (RFC 3339 §5.7).
 */
export function parseTimestampUs(text: string): number | null {
  const match = timestampPattern.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, sign, zoneHour, zoneMinute] = match;
  const h = Number(hour);
  const m = Number(minute);
  const s = Number(second);
  if (h > 23 || m > 59 || s > 60) return null;
  const offsetHours = Number(zoneHour ?? 0);
  const offsetMinutes = Number(zoneMinute ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return null;
  const midnight = new Date(0);
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) return null;
  const offset = (offsetHours * 60 + offsetMinutes) * (sign === "-" ? -60 : 60);
  const seconds = midnight.getTime() / 1000 + h * 3600 + m * 60 + Math.min(s, 59) - offset;
  if (seconds < seconds_min || seconds > seconds_max) return null;
  // Relative to year 0000, because `%` keeps the sign.
  if (s === 60 && (seconds - seconds_min) % seconds_per_day !== seconds_per_day - 1) return null;
  const micros = s === 60 ? us_per_second - 1 : Number((fraction ?? "").slice(0, 6).padEnd(6, "0"));
  return seconds * us_per_second + micros;
}

/** True if `now` is at or after `moment`, both RFC 3339. Throws for invalid timestamps. */
export function isReached(moment: string, now: string): boolean {
  return timestampUs(now) >= timestampUs(moment);
}

/** Parses a timestamp of the service to microseconds since 1970. Throws RangeError otherwise. */
export function timestampUs(time: string): number {
  const at_us = parseTimestampUs(time);
  if (at_us === null) throw new RangeError(`${time} is no timestamp`);
  return at_us;
}

const isoTimePattern = /^(.{10}[Tt]\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?(?:[Zz]|([+-]\d{2})(?::?(\d{2}))?)$/;

/**
 * Also accepts common ISO 8601 forms: without seconds (`T10:00Z`) and offsets `+0530` or `+05`. The zone is required.
 */
export function parseIsoTimeUs(text: string): number | null {
  const at_us = parseTimestampUs(text);
  if (at_us !== null) return at_us;
  const match = isoTimePattern.exec(text);
  if (match === null) return null;
  const [, minute, seconds = ":00", hours, minutes = "00"] = match;
  return parseTimestampUs(`${minute}${seconds}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
}

/** RFC 3339 in UTC with six fractional digits and `Z`. */
export function formatTimestampUs(at_us: number): string {
  const second = Math.floor(at_us / us_per_second);
  const day = Math.floor(second / seconds_per_day);
  if (day !== last_day) {
    last_date = new Date(day * seconds_per_day * 1000).toISOString().slice(0, -"00:00:00.000Z".length);
    last_day = day;
  }
  const second_of_day = second - day * seconds_per_day;
  const minute = Math.floor(second_of_day / 60);
  const micros = at_us - second * us_per_second;
  const millis = Math.floor(micros / 1000);
  return `${last_date}${minutes[minute]}${seconds[second_of_day - minute * 60]}${thousands[millis]}${thousands[micros - millis * 1000]}Z`;
}

/** Caches the last formatted day and looks up the time parts, because `toISOString` took 1.6 µs per decision. */
let last_day = Number.NaN;
let last_date = "";
const minutes = Array.from({ length: 1440 }, (_, n) => `${digits(Math.floor(n / 60), 2)}:${digits(n % 60, 2)}:`);
const seconds = Array.from({ length: 60 }, (_, n) => `${digits(n, 2)}.`);
const thousands = Array.from({ length: 1000 }, (_, n) => digits(n, 3));

function digits(value: number, length: number): string {
  return String(value).padStart(length, "0");
}

const durationPattern = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/** Parses durations such as `90s`, `15m`, `4h`, `7d` or `1h30m`. Null for anything else. */
export function parseDurationSeconds(text: string): number | null {
  const match = durationPattern.exec(text);
  if (match === null || text === "") return null;
  const [, days, hours, minutes, seconds] = match;
  const total =
    Number(days ?? 0) * 86_400 + Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return Number.isSafeInteger(total) ? total : null;
}
