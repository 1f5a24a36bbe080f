import {
  type Counter,
  type CounterAdjustment,
  type CounterAdjustmentInput,
  type CounterRequest,
  limits,
  type ProblemCode,
} from "@countersign/contract";
import {
  faultAt,
  formatTimestampUs,
  keyText,
  micros_per_unit,
  microsOf,
  type PlacedTrack,
  windowEndUs,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import {
  type AdjustmentEntry,
  type CounterPlace,
  grantMore,
  readCounterKey,
  requestAdjustment,
  resetKey,
} from "../../store/counters/adjustments.ts";
import { keySha } from "../../store/counters/counters.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf, presentPerson } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotentAttempts } from "../shared/idempotent-attempts.ts";
import type { DecidingMembrane, OrgState } from "../shared/node-services.ts";
import { type Attempt, demandCurrentKey, demandRulesInForce } from "../shared/stale.ts";
import { showKeys } from "./list-counters.ts";

/**
 * Resets a key of a counter, or grants it more. If a policy in force demands two people, the first call is a request, and
 * another person must send the same within 24 hours. Faults: not_found (the membrane, the counter, or the key of a reset),
 * invalid_request, state_conflict (the same person again, or policies define the counter differently), those of refuseEnded,
 * idempotency_conflict, unavailable.
 */
export function adjustCounter(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers" | "orgStates">,
  caller: Caller,
  name: string,
  input: CounterAdjustmentInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<CounterAdjustment>> {
  const terms = { operation: "adjust_counter", idempotency_key, request: { name, input } };
  return idempotentAttempts(runtime, caller, terms, (attempt) => adjust(runtime, attempt, name, input));
}

async function adjust(
  runtime: Pick<Runtime, "ids" | "orgStates">,
  { query, caller, state }: Attempt,
  name: string,
  input: CounterAdjustmentInput,
): Promise<CounterAdjustment> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await demandRulesInForce(runtime, query, org_id, head, state);
  await refuseEnded(query, caller);

  const membrane = state.membrane(input.membrane_id);
  if (membrane === undefined) throw faultAt("not_found", "/membrane_id", "not_found", "There is no such membrane.");
  const track = trackOf(membrane, name);
  const more = moreOf(track, input);
  const { mode = "live", kind, amount = null, actions = null, reason } = input;
  const place: CounterPlace = { mode, name: track.name, key: keyOf(track, input.key) };
  const at_us = await databaseNowUs(query);
  const before = await readShown(query, org_id, membrane, place, at_us);
  if (before === undefined && more === null)
    throw faultAt("not_found", "/key", "not_found", "No action with this key counts. Read the list of counters.");

  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = formatTimestampUs(at_us);
  const asked: CounterRequest = { kind, amount, actions, by: person, at };
  const needs_two = needsTwo(state, track.name);
  const open = before?.requested ?? null;
  const first = needs_two && open !== null && isSame(open, asked) ? open : null;
  if (first !== null && (await presentPerson(query, org_id, first.by)) === person)
    throw faultAt("state_conflict", "", "not_allowed", "A second, different person must send the same request, too.");
  const adjusted = first !== null || !needs_two;

  const counted = { n_before: before?.n ?? 0, sum_before: before === undefined ? 0 : before.sum };
  const data = { name, pipeline_mode: mode, key: JSON.parse(place.key), kind, amount, actions, reason, ...counted };
  const audit = auditRow(runtime.ids, {
    ...{ intent_id: null, at, actor },
    type: adjusted ? "counter_adjusted" : "counter_adjustment_requested",
    data: { ...data, place: `${mode}:${place.name}:${keySha(place.key)}`, ...(first && { requested_by: first.by }) },
  });
  if (!adjusted) await requestAdjustment(query, org_id, place, asked, formatTimestampUs(at_us + request_us));
  else {
    const ends_at = formatTimestampUs(windowEndUs(track.window, at_us));
    const entry = { ...(more ?? nothing), audit_id: audit.audit_id, at, ends_at };
    await (more === null ? resetKey : grantMore)(query, org_id, place, entry);
  }
  await changeHead(query, head, { audit: [audit] });
  const counter = await readShown(query, org_id, membrane, place, at_us);
  if (counter === undefined) throw new Error("the adjusted key is gone");
  return { adjusted, counter };
}

const nothing = { micros: 0, actions: 0 };
const request_us = limits.counter_request_hours * 3_600_000_000;

/** Faults: not_found, state_conflict (its definitions differ). */
function trackOf({ policySet }: DecidingMembrane, name: string): PlacedTrack {
  const track = policySet.tracks.byName.get(`count.${name}`);
  if (track === undefined)
    throw faultAt("not_found", "", "not_found", "No policy in force in this membrane defines a counter of this name.");
  if (track.conflicts)
    throw faultAt(
      "state_conflict",
      "",
      "not_allowed",
      "Policies define this counter differently. Make the definitions equal.",
    );
  return track;
}

/** Returns what an entry of a grant counts; null: a reset. Faults: invalid_request. */
function moreOf(
  { value }: PlacedTrack,
  { kind, amount, actions }: CounterAdjustmentInput,
): Pick<AdjustmentEntry, "micros" | "actions"> | null {
  const refuse = (path: string, code: ProblemCode, message: string) => faultAt("invalid_request", path, code, message);
  if (kind === "reset") {
    if (amount !== undefined) throw refuse("/amount", "not_allowed", "Only a grant has an amount.");
    if (actions !== undefined) throw refuse("/actions", "not_allowed", "Only a grant has a number of actions.");
    return null;
  }
  if (value === null) {
    if (amount !== undefined)
      throw refuse("/amount", "not_allowed", "This counter has no `value`, so it counts actions. Send `actions`.");
    if (actions === undefined) throw refuse("/actions", "required", "Say how many more actions.");
    return { micros: -actions * micros_per_unit, actions: -actions };
  }
  if (amount === undefined && actions === undefined)
    throw refuse("/amount", "required", "Say how much more: `amount`, `actions`, or both.");
  const micros = microsOf(amount ?? 0);
  if (micros === null) throw refuse("/amount", "out_of_range", "An amount has at most six decimals.");
  return { micros: 0 - micros, actions: 0 - (actions ?? 0) };
}

/** Faults: invalid_request. */
function keyOf({ key }: PlacedTrack, values: readonly unknown[]): string {
  if (values.length !== key.length) {
    const message = `The key of this counter has ${key.length} ${key.length === 1 ? "value" : "values"}.`;
    throw faultAt("invalid_request", "/key", "not_allowed", message);
  }
  const text = keyText(values);
  if (text === null) throw faultAt("invalid_request", "/key", "too_long", "A key has at most 1,024 characters.");
  return text;
}

/** The counter is one in all membranes, so no membrane offers a way around the second person. */
function needsTwo({ membranes }: OrgState, name: string): boolean {
  return membranes.some(({ policySet }) => policySet.tracks.byName.get(name)?.adjust_needs_two === true);
}

function isSame(first: CounterRequest, { kind, amount, actions }: CounterRequest): boolean {
  return first.kind === kind && first.amount === amount && first.actions === actions;
}

async function readShown(
  query: Query,
  org_id: string,
  membrane: DecidingMembrane,
  place: CounterPlace,
  now_us: number,
): Promise<Counter | undefined> {
  const key = await readCounterKey(query, org_id, place);
  if (key === undefined) return undefined;
  const [counter] = await showKeys(query, org_id, membrane, place.mode, [key], now_us);
  return counter;
}
