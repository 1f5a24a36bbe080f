/** Reads intents and decisions. Keys of agents see only their own; another's intent is not_found for them. */
import {
  type AuditRecord,
  type Decision,
  type Execution,
  type IntentAnswer,
  type IntentListItem,
  type IntentRecord,
  limits,
  onlySubmits,
  type UsedFact,
  type UsedFacts,
} from "@countersign/contract";
import {
  assuranceOf,
  decisionForPeople,
  Fault,
  factsForPeople,
  faultAt,
  formatTimestampUs,
  hiddenPlaces,
  hidesValue,
  intentForPeople,
  listFacts,
  type MergedFacts,
  maskingOfAction,
  parseTimestampUs,
  us_per_day,
} from "@countersign/core";

import { readAuditPage } from "../../store/audit/audit.ts";
import {
  type IntentFilter,
  type ListedIntent,
  listIntents,
  readDecision,
  readIntent,
  type StoredDecision,
} from "../../store/intents/intents.ts";
import { decodeCursorSince, idPlace, isSeq, type Page, page, placeSince } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { readFirstOrNext } from "../shared/first-or-next.ts";
import { storableTime } from "../shared/storable-time.ts";
import { presentDecision, shownExecution } from "./execution.ts";
import { getsSubmittersWording, isAgent, wordedFor } from "./readers.ts";

const isIntent = idPlace("intent");

/** Returns an intent with the facts that decided it, and its decision. Faults: not_found. */
export async function getIntent(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  intent_id: string,
): Promise<IntentAnswer> {
  const row = await runtime.db.tenant(caller.org_id, (query) => readIntent(query, caller.org_id, intent_id));
  if (row === undefined || !maySee(caller, row)) throw new Fault("not_found");
  const own = { intent: intentRecord(row), facts: shownFacts(caller, row.facts), decision: decisionFor(caller, row) };
  if (getsWhole(caller, row.lineage_id)) return { ...own, ...ancestorsOf(row.facts) };
  const masking = maskingOfAction(row);
  return {
    intent: intentForPeople(own.intent, masking),
    facts: factsForPeople(own.facts, masking),
    decision: decisionForPeople(own.decision, masking),
    ...ancestorsOf(row.facts),
  };
}

/**
 * Lists intents, newest first. A page of large records is shorter than `limit`. Faults: invalid_request (cursor),
 * forbidden (a key of one agent asks for another).
 */
export async function listOwnIntents(
  runtime: Pick<Runtime, "clock" | "db">,
  caller: Caller,
  filter: IntentFilter,
  limit: number,
  cursor: string | undefined,
): Promise<Page<IntentListItem>> {
  if (caller.agent_id !== null && filter.agent_id !== undefined && filter.agent_id !== caller.agent_id)
    throw faultAt(
      "forbidden",
      "/agent_id",
      "agent",
      `This key speaks for the agent ${JSON.stringify(caller.agent_id)} only.`,
    );
  refuseLongRun(runtime.clock.now_us(), filter);
  const before = decodeCursorSince(cursor, isIntent);
  const own: IntentFilter = {
    ...filter,
    from: storableTime(filter.from),
    to: storableTime(filter.to),
    ...(caller.agent_id === null ? {} : { agent_id: caller.agent_id }),
    ...(onlySubmits(caller.role) && caller.scope === "org" ? { lineage_id: caller.lineage_id ?? undefined } : {}),
  };
  const { found, seq } = await readFirstOrNext(runtime.db, caller.org_id, before, (query) =>
    listIntents(query, caller.org_id, own, before?.place ?? null, limit + 1),
  );
  const cut = page(found.rows, limit, (row) => placeSince(row.intent_id, seq), found.more);
  const rows = cut.rows.map((row) => {
    const item = listItem(row);
    return getsWhole(caller, row.lineage_id) ? item : intentForPeople(item, maskingOfAction(row));
  });
  return { rows, next_cursor: cut.next_cursor };
}

/** Limits the window of a search by run, because no index covers runs. Faults: invalid_request. */
function refuseLongRun(now_us: number, { session_id, from, to }: IntentFilter): void {
  if (session_id === undefined) return;
  const days_max = limits.session_window_days_max;
  const from_us = from === undefined ? Number.NEGATIVE_INFINITY : (parseTimestampUs(from) ?? 0);
  const to_us = to === undefined ? now_us : (parseTimestampUs(to) ?? now_us);
  if (to_us - from_us <= days_max * us_per_day) return;
  const message = `With session_id, give from and to at most ${days_max} days apart.`;
  throw faultAt("invalid_request", "/session_id", "not_allowed", message);
}

/**
 * Returns the current decision as JSON text; masked for people who did not submit the action. Waits up to
 * `wait_seconds` for a final outcome, or until the client disconnects (`gone`). Faults: not_found.
 */
export async function getDecision(
  runtime: Pick<Runtime, "callers" | "db" | "decisionReads" | "reviewWaits" | "waits">,
  caller: Caller,
  intent_id: string,
  wait_seconds: number,
  gone?: AbortSignal,
): Promise<string> {
  const read = () => runtime.decisionReads.read(caller.org_id, intent_id);
  let row = await read();
  if (row === undefined || !maySee(caller, row)) throw new Fault("not_found");
  if (row.status === "pending" && wait_seconds > 0) {
    const ended = noteWait(runtime, caller, row, wait_seconds);
    await runtime.waits.untilFinal(caller.org_id, intent_id, wait_seconds * 1000, gone);
    ended(gone?.aborted === true);
    if (gone?.aborted) return presentDecision(row);
    await runtime.callers.reload(caller);
    row = (await read()) ?? row;
  }
  if (getsSubmittersWording(caller, row.lineage_id)) return presentDecision(row);
  const intent = await runtime.db.tenant(caller.org_id, (query) => readIntent(query, caller.org_id, intent_id));
  if (intent === undefined) throw new Fault("not_found");
  const decision = wordedFor(caller, JSON.parse(presentDecision(row)) as Decision, intent.intent.other_wording);
  // The submitter runs the action, so nothing is masked.
  const is_whole = getsWhole(caller, row.lineage_id);
  return JSON.stringify(is_whole ? decision : decisionForPeople(decision, maskingOfAction(intent)));
}

/** Notes a wait for the review of an action that needs a claim. Returns the function that ends the note. */
function noteWait(
  { reviewWaits }: Pick<Runtime, "reviewWaits">,
  { org_id }: Caller,
  { decision }: StoredDecision,
  seconds: number,
): (is_gone: boolean) => void {
  const { escalation_id, claim } = JSON.parse(decision) as Decision;
  if (escalation_id === null || claim !== "required") return () => undefined;
  return reviewWaits.begin(org_id, escalation_id, seconds);
}

/** Returns the data of an audit row without internal remarks of people. Agents get only `message_to_agent`. */
function withoutInternal({
  comment: _comment,
  reason: _reason,
  fast: _fast,
  ...data
}: AuditRecord["data"]): AuditRecord["data"] {
  return data;
}

/**
 * Lists the audit rows of an intent, in order. Agents get no comments, reasons and pace of people. Faults: not_found,
 * invalid_request (cursor).
 */
export async function listIntentAudit(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  intent_id: string,
  limit: number,
  cursor: string | undefined,
): Promise<Page<AuditRecord>> {
  const after = decodeCursorSince(cursor, isSeq);
  const { found, seq } = await readFirstOrNext(runtime.db, caller.org_id, after, async (query) => {
    const decision = await readDecision(query, caller.org_id, intent_id);
    if (decision === undefined || !maySee(caller, decision)) throw new Fault("not_found");
    return readAuditPage(query, caller.org_id, intent_id, Number(after?.place ?? 0), limit + 1);
  });
  const cut = page(found.rows, limit, (row) => placeSince(String(row.seq), seq), found.more);
  const shown = isAgent(caller) ? withoutInternal : (data: AuditRecord["data"]) => data;
  const rows = cut.rows.map((row) => ({ ...row, actor: shownActor(row.actor), data: shown(row.data) }));
  return { rows, next_cursor: cut.next_cursor };
}

function getsWhole(caller: Caller, lineage_id: string | null): boolean {
  return isAgent(caller) || (lineage_id !== null && caller.lineage_id === lineage_id);
}

/** Keys of scope agent see that agent's intents; other keys that only submit see their own. */
export function maySee(
  caller: Caller,
  intent: { readonly agent_id: string; readonly lineage_id: string | null },
): boolean {
  if (caller.scope === "agent") return intent.agent_id === caller.agent_id;
  return !onlySubmits(caller.role) || intent.lineage_id === caller.lineage_id;
}

export function decisionFor(caller: Caller, row: ListedIntent): Decision & { readonly execution: Execution } {
  return wordedFor(caller, decisionOf(row), row.intent.other_wording);
}

function decisionOf(row: ListedIntent): Decision & { readonly execution: Execution } {
  return { ...row.decision, ...row.resolution, execution: shownExecution(row.execution) };
}

function intentRecord(row: ListedIntent): IntentRecord {
  const masked = [...maskingOfAction(row).places];
  const { submitted, decided_as } = row.intent;
  return {
    intent_id: row.intent_id,
    membrane_id: row.membrane_id,
    pipeline_mode: row.mode,
    ...submitted,
    decided_as,
    withheld: [...new Set([...hiddenPlaces(row), ...masked])],
    masked,
    submitted_by: shownActor(row.actor),
    submitted_at: row.created_at,
  };
}

function listItem(row: ListedIntent): IntentListItem {
  const { decision_id, verdict, outcome, status, risk_score, execution } = decisionOf(row);
  return { ...intentRecord(row), decision_id, verdict, outcome, status, risk_score, execution };
}

function ancestorsOf({ ancestors }: MergedFacts): Pick<IntentAnswer, "ancestors"> {
  return ancestors === undefined ? {} : { ancestors: ancestors.map(({ id, source }) => ({ agent_id: id, source })) };
}

function shownFacts(caller: Caller, facts: MergedFacts): UsedFacts {
  const shown: Record<string, Record<string, UsedFact>> = {};
  for (const { path, value, ...origin } of listFacts(facts)) {
    const [category = "", field = ""] = path.split(".");
    const { source, as_of_us } = origin;
    shown[category] ??= Object.create(null) as Record<string, never>;
    const fact = { source, assurance: assuranceOf(origin), as_of: formatTimestampUs(as_of_us) };
    const is_hidden = isAgent(caller) && hidesValue(origin);
    (shown[category] as Record<string, UsedFact>)[field] = is_hidden ? fact : { value, ...fact };
  }
  return shown as UsedFacts;
}
