const day_ms = 86_400_000;
const iso =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;

const infinitely_old_days = 1e9;

/**
 * Returns the first instant of a day. Months may exceed 12. `Date.UTC` would read the years 0 to 99 as 1900 to 1999.
 */
const midnightOf = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day);

const daysInMonth = (year: number, month: number): number => new Date(midnightOf(year, month + 1, 0)).getUTCDate();

/**
 * Returns the instant of an ISO 8601 date or date-time (default UTC) in milliseconds; undefined for other values.
 * Refuses 30 February, which `Date` reads as 2 March.
 */
export const instantOf = (value: unknown): number | undefined => {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.getTime();
  if (typeof value !== "string" || value.length > 40) return undefined;
  const match = iso.exec(value.trim());
  if (match === null) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [hour, minute, second] = [Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const zone = match[7] ?? "Z";
  const sign = zone.startsWith("-") ? -1 : 1;
  const digits = zone.replace(/\D/g, "");
  const [ahead_hours, ahead_minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (ahead_hours > 23 || ahead_minutes > 59) return undefined;
  const minutes = hour * 60 + minute - sign * (ahead_hours * 60 + ahead_minutes);
  const instant = midnightOf(year, month, day) + (minutes * 60 + second) * 1000;
  return Number.isFinite(instant) ? instant : undefined;
};

/** Returns calendar days in UTC. 1e9 for invalid values and future days. */
export const daysSince = (now_ms: number, value: unknown): number => {
  const instant = instantOf(value);
  if (instant === undefined) return infinitely_old_days;
  const days = Math.floor(now_ms / day_ms) - Math.floor(instant / day_ms);
  return days < 0 ? infinitely_old_days : days;
};

/**
 * Returns true until the anniversary (UTC), `months` after the date. A month without that day counts its last day.
 * False for invalid or future dates.
 */
export const withinMonths = (now_ms: number, value: unknown, months: unknown): boolean => {
  const count = typeof months === "bigint" ? Number(months) : months;
  const instant = instantOf(value);
  if (instant === undefined || typeof count !== "number" || !Number.isInteger(count)) return false;
  if (count < 0 || count > 12_000 || daysSince(now_ms, value) === infinitely_old_days) return false;
  const date = new Date(instant);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1 + count];
  const day = Math.min(date.getUTCDate(), daysInMonth(year, month));
  return Math.floor(now_ms / day_ms) * day_ms <= midnightOf(year, month, day);
};

/** Returns false for an invalid date. */
export const nowBefore = (now_ms: number, value: unknown): boolean => {
  const instant = instantOf(value);
  return instant !== undefined && now_ms < instant;
};
