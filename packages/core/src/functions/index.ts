import {
  BOOL,
  type CallContext,
  DOUBLE,
  DYN,
  type HostFunction,
  listOf,
  objectOf,
  STRING,
  type Type,
  Unknown,
} from "@countersign/cel";
import { effectNames } from "../shell/effects.ts";
import { effectsOf } from "../shell/effects-of.ts";
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
import { flagged } from "./flagged.ts";
import { framework } from "./framework.ts";
import { commands, copies, frameworks, names, type Reading, scalars, texts, whole } from "./reading.ts";
import { entries, intersect, listed, subset } from "./subset.ts";
import { tls } from "./tls.ts";
import { transferOk } from "./transfer.ts";
import { aiDisclosed, aiVoice } from "./voice.ts";
import { addresses, unnamedAddresses, unnamedLinks } from "./web-addresses.ts";

/**
 * Without a clock every date is infinitely old and every deadline has passed, because doubt must never help a consent.
 */
const nowMs = (call: CallContext): number => call.now?.toMilliseconds() ?? Number.POSITIVE_INFINITY;

const declared = (
  name: string,
  parameters: readonly Type[],
  result: Type,
  compute: (call: CallContext, args: readonly unknown[]) => unknown,
  { as, units, most, size }: Reading,
): HostFunction => ({
  name,
  parameters,
  result,
  cost: most,
  ...(size === undefined ? {} : { size }),
  implementation: (call, ...args: unknown[]) => {
    call.charge(units(call, args));
    return call.left < 0 ? null : compute(call, args.map(as));
  },
});

const pure = (
  name: string,
  parameters: readonly Type[],
  result: Type,
  compute: (...args: readonly unknown[]) => unknown,
  reading: Reading = whole,
): HostFunction => declared(name, parameters, result, (_call, args) => compute(...args), reading);

const timed = (
  name: string,
  parameters: readonly Type[],
  result: Type,
  compute: (now_ms: number, ...args: readonly unknown[]) => unknown,
  reading: Reading = whole,
): HostFunction => declared(name, parameters, result, (call, args) => compute(nowMs(call), ...args), reading);

const STATES = listOf(DYN);
const EFFECTS = objectOf(
  Object.fromEntries(effectNames.map((name) => [name, { type: listOf(STRING), optional: false, nullable: false }])),
  { name: "effects" },
);

/**
 * The functions of the policy language. Arguments of any type give a value; in doubt, the protective one. If neither
 * value is protective (`listed`, `aiVoice`), the result is unknown. A missing, null or stale argument makes every
 * result unknown, except that of `known`. Within whole `facts`, stale facts count as missing.
 */
export const domainFunctions: readonly HostFunction[] = [
  pure("documented", [DYN], BOOL, documented),
  pure("tls", [DYN], DOUBLE, tls, scalars),
  timed("daysSince", [DYN], DOUBLE, daysSince, scalars),
  timed("withinMonths", [DYN, DYN], BOOL, withinMonths, scalars),
  timed("nowBefore", [DYN], BOOL, nowBefore, scalars),
  timed("consentState", [DYN], STRING, consentState),
  pure("optedOut", [DYN], BOOL, optedOut),
  pure("optOutKnown", [DYN], BOOL, optOutKnown),
  pure("framework", [DYN, STRING], STRING, framework, frameworks),
  pure("aiVoice", [DYN], BOOL, aiVoice, copies("communication_method")),
  pure("aiDisclosed", [DYN], BOOL, aiDisclosed, copies("ai_voice_disclosure")),
  pure("recipientStates", [DYN], listOf(STRING), recipientStates, copies("recipient_state")),
  timed("localHourConsistent", [DYN], BOOL, localHourConsistent, scalars),
  pure("inFederalWindow", [DYN], BOOL, inFederalWindow, scalars),
  timed("inCallingWindow", [STATES, DYN], BOOL, inCallingWindow),
  timed("nextCallingWindow", [STATES, DYN], STRING, nextCallingWindow),
  pure("transferOk", [DYN, DYN], BOOL, transferOk, scalars),
  pure("subset", [DYN, DYN], BOOL, subset, names),
  pure("intersect", [DYN, DYN], listOf(DYN), intersect, names),
  pure("entries", [DYN], listOf(DYN), entries, names),
  pure("listed", [DYN, DYN], BOOL, listed, names),
  pure("flagged", [DYN], BOOL, flagged, scalars),
  pure("effects", [DYN], EFFECTS, effectsOf, commands),
  pure("addresses", [DYN], listOf(STRING), addresses, texts),
  pure("unnamedAddresses", [DYN, DYN], listOf(STRING), unnamedAddresses, texts),
  pure("unnamedLinks", [DYN, DYN], listOf(STRING), unnamedLinks, texts),
  {
    name: "known",
    parameters: [DYN],
    result: BOOL,
    acceptsUnknown: true,
    implementation: (_call, value: unknown) => !(value instanceof Unknown) && value !== null,
  },
];
