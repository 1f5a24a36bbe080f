import { DURATION, INT, STRING, TIMESTAMP } from "../check/type.ts";
import { type FunctionDeclaration, type Overload, overload } from "../library.ts";
import { Duration } from "../value/duration.ts";
import { Timestamp } from "../value/timestamp.ts";
import { Failure } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import { zoneOffset } from "./zones.ts";

const OF_TIMESTAMP: readonly Overload[] = [overload(INT, TIMESTAMP), overload(INT, TIMESTAMP, STRING)];
const OF_BOTH: readonly Overload[] = [...OF_TIMESTAMP, overload(INT, DURATION)];

/** Declares a function with a zone argument (default UTC). */
function part(name: string, of: (local: Date) => number, ofDuration?: (d: Duration) => number): FunctionDeclaration {
  const read = (call: { charge(n: number): void }, t: Value, zone?: Value): number | Failure | undefined => {
    if (t instanceof Duration) return zone === undefined ? ofDuration?.(t) : undefined;
    if (!(t instanceof Timestamp)) return undefined;
    if (zone === undefined) return of(new Date(t.toMilliseconds()));
    if (typeof zone !== "string") return undefined;
    call.charge(20);
    const offset = zoneOffset(zone, t.seconds);
    return offset === null ? new Failure("no such time zone") : of(new Date(t.toMilliseconds() + offset * 1000));
  };
  return {
    name,
    style: "member",
    overloads: ofDuration === undefined ? OF_TIMESTAMP : OF_BOTH,
    implementation: (call, t: Value, zone?: Value) => {
      const n = read(call, t, zone);
      return typeof n === "number" ? BigInt(n) : n;
    },
    small: read,
  };
}

function dayOfYear(d: Date): number {
  const first = new Date(d.getTime());
  first.setUTCMonth(0, 1);
  return Math.round((d.getTime() - first.getTime()) / 86_400_000);
}

/** Months and days of month or year start at 0, `getDate` at 1. */
export const TIME: readonly FunctionDeclaration[] = [
  part("getFullYear", (d) => d.getUTCFullYear()),
  part("getMonth", (d) => d.getUTCMonth()),
  part("getDate", (d) => d.getUTCDate()),
  part("getDayOfMonth", (d) => d.getUTCDate() - 1),
  part("getDayOfWeek", (d) => d.getUTCDay()),
  part("getDayOfYear", dayOfYear),
  part(
    "getHours",
    (d) => d.getUTCHours(),
    (d) => Math.trunc(d.seconds / 3600),
  ),
  part(
    "getMinutes",
    (d) => d.getUTCMinutes(),
    (d) => Math.trunc(d.seconds / 60),
  ),
  part(
    "getSeconds",
    (d) => d.getUTCSeconds(),
    (d) => d.seconds,
  ),
  part(
    "getMilliseconds",
    (d) => d.getUTCMilliseconds(),
    (d) => Math.trunc(d.nanos / 1e6),
  ),
];
