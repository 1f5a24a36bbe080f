/** Whole seconds and nanoseconds of the same sign, at most about 10,000 years. */
export class Duration {
  readonly seconds: number;
  readonly nanos: number;

  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }

  toString(): string {
    const negative = this.seconds < 0 || this.nanos < 0;
    const fraction = this.nanos === 0 ? "" : `.${String(Math.abs(this.nanos)).padStart(9, "0").replace(/0+$/, "")}`;
    return `${negative ? "-" : ""}${Math.abs(this.seconds)}${fraction}s`;
  }

  toJSON(): string {
    return this.toString();
  }

  /** Whole milliseconds, rounded towards zero. */
  toMilliseconds(): number {
    return this.seconds * 1000 + Math.trunc(this.nanos / 1e6);
  }
}

/** The limit of protobuf's Duration. */
const seconds_max = 315_576_000_000;
/** Results of arithmetic must fit into an int64 of nanoseconds (cel-spec `timestamps`). */
const nanos_max = 2n ** 63n - 1n;

export function durationFromNanos(total: bigint): Duration | null {
  if (total > nanos_max || total < -nanos_max - 1n) return null;
  return new Duration(Number(total / 1_000_000_000n), Number(total % 1_000_000_000n));
}

export function durationNanos(d: Duration): bigint {
  return BigInt(d.seconds) * 1_000_000_000n + BigInt(d.nanos);
}

const UNIT_NANOS: ReadonlyMap<string, number> = new Map([
  ["h", 3600e9],
  ["m", 60e9],
  ["s", 1e9],
  ["ms", 1e6],
  ["us", 1e3],
  ["µs", 1e3],
  ["μs", 1e3],
  ["ns", 1],
]);

/** Reads `1h30m`, `-1.5s`, `100ms`, `0`. Null for other text or outside the range. */
export function parseDuration(text: string): Duration | null {
  if (text.length > 64) return null;
  const whole = /^([+-]?)((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:h|ms|m|s|us|µs|μs|ns))+$/.exec(text);
  if (whole === null) return /^[+-]?0$/.test(text) ? new Duration(0, 0) : null;
  let total = 0n;
  for (const [, digits = "", fraction = "", unit = ""] of text.matchAll(
    /([0-9]*)(?:\.([0-9]*))?(h|ms|m|s|us|µs|μs|ns)/g,
  )) {
    const scale = BigInt(UNIT_NANOS.get(unit) ?? 0);
    total += BigInt(digits || "0") * scale;
    if (fraction !== "") total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  return limited(text.startsWith("-") ? -total : total);
}

function limited(total: bigint): Duration | null {
  const seconds = total / 1_000_000_000n;
  if (seconds > BigInt(seconds_max) || seconds < -BigInt(seconds_max)) return null;
  return new Duration(Number(seconds), Number(total % 1_000_000_000n));
}

export function compareDurations(a: Duration, b: Duration): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}
