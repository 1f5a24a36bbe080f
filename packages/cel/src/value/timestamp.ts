import { type Duration, durationFromNanos, durationNanos } from "./duration.ts";

/** UTC in the years 1 to 9999: seconds since 1970, and nanoseconds (0 to 999,999,999). */
export class Timestamp {
  readonly seconds: number;
  readonly nanos: number;

  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }

  /** Returns RFC 3339 in UTC with the shortest fraction. */
  toString(): string {
    const day = new Date(this.seconds * 1000).toISOString();
    const year = day.startsWith("+") || day.startsWith("-") ? day.slice(0, -5) : day.slice(0, 19);
    const fraction = this.nanos === 0 ? "" : `.${String(this.nanos).padStart(9, "0").replace(/0+$/, "")}`;
    return `${year}${fraction}Z`;
  }

  toJSON(): string {
    return this.toString();
  }

  /** Milliseconds since 1970, rounded down. */
  toMilliseconds(): number {
    return this.seconds * 1000 + Math.floor(this.nanos / 1e6);
  }
}

const seconds_min = -62_135_596_800;
const seconds_max = 253_402_300_799;

/** Returns null outside the years 1 to 9999. */
export function timestampOf(seconds: number, nanos: number): Timestamp | null {
  return seconds >= seconds_min && seconds <= seconds_max ? new Timestamp(seconds, nanos) : null;
}

export function timestampFromMilliseconds(ms: number): Timestamp | null {
  if (!Number.isFinite(ms)) return null;
  const seconds = Math.floor(ms / 1000);
  return timestampOf(seconds, Math.round((ms - seconds * 1000) * 1e6));
}

const rfc3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9})[0-9]*)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/;

/** Reads RFC 3339 with a zone. Null for other text and for dates such as 30 February. */
export function parseTimestamp(text: string): Timestamp | null {
  if (text.length > 64) return null;
  const m = rfc3339.exec(text);
  if (m === null) return null;
  const [year, month, day, hour, minute, second] = m.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) || hour > 23 || minute > 59 || second > 59)
    return null;
  const offset = m[8] === undefined ? 0 : (Number(m[9]) * 3600 + Number(m[10]) * 60) * (m[8] === "-" ? -1 : 1);
  if (Number(m[9] ?? 0) > 23 || Number(m[10] ?? 0) > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset;
  return timestampOf(seconds, Number((m[7] ?? "").padEnd(9, "0")));
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

export function compareTimestamps(a: Timestamp, b: Timestamp): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}

function nanosOf(t: Timestamp): bigint {
  return BigInt(t.seconds) * 1_000_000_000n + BigInt(t.nanos);
}

/** Returns null outside the range. */
export function moveTimestamp(t: Timestamp, d: Duration, sign: 1 | -1): Timestamp | null {
  let seconds = t.seconds + sign * d.seconds;
  let nanos = t.nanos + sign * d.nanos;
  if (nanos < 0) {
    nanos += 1e9;
    seconds--;
  } else if (nanos >= 1e9) {
    nanos -= 1e9;
    seconds++;
  }
  return timestampOf(seconds, nanos);
}

/** Returns null if nanoseconds do not fit into 64 bits. */
export function timeBetween(a: Timestamp, b: Timestamp): Duration | null {
  return durationFromNanos(nanosOf(a) - nanosOf(b));
}

export function addDurations(a: Duration, b: Duration, sign: 1 | -1): Duration | null {
  return durationFromNanos(durationNanos(a) + BigInt(sign) * durationNanos(b));
}
