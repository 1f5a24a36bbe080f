/** Bounded, because formatters are large. */
const formatters = new Map<string, Intl.DateTimeFormat>();
const formatters_max = 32;

/**
 * Returns the seconds that a zone (`Europe/Berlin`, `+01:00`, `01:00`) is ahead of UTC, or null for an unknown zone.
 * `seconds` since 1970.
 */
export function zoneOffset(zone: string, seconds: number): number | null {
  if (zone === "UTC" || zone === "") return 0;
  const fixed = /^([+-]?)([0-9]{2}):([0-9]{2})$/.exec(zone);
  if (fixed !== null) {
    const [hours, minutes] = [Number(fixed[2]), Number(fixed[3])];
    return hours > 23 || minutes > 59 ? null : (hours * 3600 + minutes * 60) * (fixed[1] === "-" ? -1 : 1);
  }
  const formatter = formatterOf(zone);
  if (formatter === null) return null;
  const parts = new Map(formatter.formatToParts(seconds * 1000).map((p) => [p.type, p.value]));
  const part = (name: Intl.DateTimeFormatPartTypes) => Number(parts.get(name));
  const local = new Date(0);
  local.setUTCFullYear(part("year"), part("month") - 1, part("day"));
  return local.getTime() / 1000 + part("hour") * 3600 + part("minute") * 60 + part("second") - seconds;
}

function formatterOf(zone: string): Intl.DateTimeFormat | null {
  const found = formatters.get(zone);
  if (found !== undefined) return found;
  if (zone.length > 64 || !/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(zone)) return null;
  let made: Intl.DateTimeFormat;
  try {
    made = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    // Intl throws a RangeError only for an unknown zone.
    return null;
  }
  if (formatters.size >= formatters_max) formatters.delete(formatters.keys().next().value as string);
  formatters.set(zone, made);
  return made;
}
