import {
  BOOL,
  type CallContext,
  CelMap,
  DOUBLE,
  DYN,
  type HostFunction,
  listOf,
  STRING,
  type Type,
  Uint,
  Unknown,
} from "@countersign/cel";
import {
  inCallingWindow,
  inFederalWindow,
  localHourConsistent,
  nextCallingWindow,
  recipientStates,
} from "./calling.ts";
import { consentState, optedOut, optOutKnown } from "./consent.ts";
import { daysSince, nowBefore, withinMonths } from "./dates.ts";
import { documented } from "./documented.ts";
import { framework } from "./framework.ts";
import { entries, intersect, subset } from "./subset.ts";
import { tls } from "./tls.ts";
import { transferOk } from "./transfer.ts";
import { aiDisclosed, aiVoice } from "./voice.ts";

/** Without a clock every date is infinitely long ago and every deadline over: doubt never helps a consent. */
const nowMs = (call: CallContext): number => call.now?.toMilliseconds() ?? Number.POSITIVE_INFINITY;

/** What an expression made of a kind that JSON does not have: an int or uint, a map, a list of those. */
const isOwnKind = (value: unknown): boolean =>
  typeof value === "bigint" ||
  value instanceof Uint ||
  value instanceof CelMap ||
  (Array.isArray(value) && value.some(isOwnKind));

/** A value as functions read it, which is as JSON: ints as numbers (where they are exact), maps as plain records. */
const plain = (value: unknown): unknown => {
  if (!isOwnKind(value)) return value;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Uint) return plain(value.unsigned);
  if (Array.isArray(value)) return value.map(plain);
  const pairs = [...(value as CelMap).entries.values()];
  return Object.fromEntries(pairs.map(([key, inner]) => [String(key), plain(inner)]));
};

type Pure = (...args: readonly unknown[]) => unknown;

const pure = (name: string, parameters: readonly Type[], result: Type, compute: Pure): HostFunction => ({
  name,
  parameters,
  result,
  implementation: (_call, ...args: unknown[]) => compute(...args.map(plain)),
});

const timed = (
  name: string,
  parameters: readonly Type[],
  result: Type,
  compute: (now_ms: number, ...args: readonly unknown[]) => unknown,
): HostFunction => ({
  name,
  parameters,
  result,
  implementation: (call, ...args: unknown[]) => compute(nowMs(call), ...args.map(plain)),
});

const STATES = listOf(DYN);

/**
 * The domain functions of the policy language, ready for an environment. All are total: an argument of any type gives a
 * value, and the doubtful one is the protective one. A missing, null or stale argument makes the result unknown, save for
 * `known`, which exists to ask exactly that. `facts` as a whole may hold markers for stale facts; they count as missing.
 * Source: policies.md §5. `known`, `intersect`, `entries` and `nextCallingWindow` are additions that the packs need.
 */
export const domainFunctions: readonly HostFunction[] = [
  pure("documented", [DYN], BOOL, documented),
  pure("tls", [DYN], DOUBLE, tls),
  timed("daysSince", [DYN], DOUBLE, daysSince),
  timed("withinMonths", [DYN, DYN], BOOL, withinMonths),
  timed("nowBefore", [DYN], BOOL, nowBefore),
  timed("consentState", [DYN], STRING, consentState),
  pure("optedOut", [DYN], BOOL, optedOut),
  pure("optOutKnown", [DYN], BOOL, optOutKnown),
  pure("framework", [DYN, STRING], STRING, framework),
  pure("aiVoice", [DYN], BOOL, aiVoice),
  pure("aiDisclosed", [DYN], BOOL, aiDisclosed),
  pure("recipientStates", [DYN], listOf(STRING), recipientStates),
  timed("localHourConsistent", [DYN], BOOL, localHourConsistent),
  pure("inFederalWindow", [DYN], BOOL, inFederalWindow),
  timed("inCallingWindow", [STATES, DYN], BOOL, inCallingWindow),
  timed("nextCallingWindow", [STATES, DYN], STRING, nextCallingWindow),
  pure("transferOk", [DYN, DYN], BOOL, transferOk),
  pure("subset", [DYN, DYN], BOOL, subset),
  pure("intersect", [DYN, DYN], listOf(DYN), intersect),
  pure("entries", [DYN], listOf(DYN), entries),
  {
    name: "known",
    parameters: [DYN],
    result: BOOL,
    acceptsUnknown: true,
    implementation: (_call, value: unknown) => !(value instanceof Unknown) && value !== null,
  },
];
