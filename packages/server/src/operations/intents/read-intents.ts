/** Reads intents and decisions. Keys of agents see only their own; another's intent is not_found for them. */
import {
  type AuditRecord,
  type Decision,
  type Execution,
  type IntentAnswer,
  type IntentListItem,
  type IntentRecord,
  onlySubmits,
  type UsedFact,
  type UsedFacts,
} from "@countersign/contract";
import {
  amountAtStake,
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
} from "@countersign/core";

import type { Query } from "../../ports.ts";
import { readAuditPage } from "../../store/audit/audit.ts";
import {
  type DecidedIntent,
  type IntentFilter,
  type ListedIntent,
  listIntents,
  readDecision,
  readIntent,
  readListed,
  type StoredDecision,
} from "../../store/intents/intents.ts";
import { isSearch, searchIntents } from "../../store/intents/search-intents.ts";
import {
  decodeCursorSince,
  encodeCursor,
  idPlace,
  isSeq,
  type Page,
  page,
  placeSince,
} from "../../store/rows/cursor.ts";
import { idTime_ms } from "../../store/rows/first-id-at.ts";
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

interface ListedPage extends Page<IntentListItem> {
  readonly searched_to?: string;
}

/**
 * Lists intents, newest first. A page of large records is shorter than `limit`, and so is one of a search that read as
 * many decisions as one request may. Faults: invalid_request (cursor), forbidden (a key of one agent asks for another).
 */
export async function listOwnIntents(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  filter: IntentFilter,
  limit: number,
  cursor: string | undefined,
): Promise<ListedPage> {
  const own = ownFilter(caller, filter);
  const before = decodeCursorSince(cursor, isIntent);
  const { found, seq } = await readFirstOrNext(runtime.db, caller.org_id, before, (query) =>
    readMatching(query, caller, own, before?.place ?? null, limit + 1),
  );
  const matching = page(found.rows, limit, (row) => placeSince(row.intent_id, seq), found.more);
  const cut = { ...matching, rows: matching.rows.map((row) => listItem(caller, row)) };
  const { last_read } = found;
  if (last_read === null || cut.next_cursor !== null) return cut;
  const searched_to = new Date(idTime_ms(last_read) ?? 0).toISOString();
  return { ...cut, next_cursor: encodeCursor(placeSince(last_read, seq)), searched_to };
}

interface MatchingPage {
  readonly rows: ListedIntent[];
  /** More follow after the last row. */
  readonly more: boolean;
  /** The last intent that a search read, if it ended before the page was full; null: the page is full, or nothing is left. */
  readonly last_read: string | null;
}

const rounds_max = 5;
const round_rows_min = 200;

/** Reads the intents of a filter before `before`, newest first. `filter` is that of `ownFilter`. */
export async function readMatching(
  query: Query,
  caller: Caller,
  filter: IntentFilter,
  before: string | null,
  limit: number,
): Promise<MatchingPage> {
  const { org_id } = caller;
  if (!isSearch(filter)) return { ...(await listIntents(query, org_id, filter, before, limit)), last_read: null };
  const kept: ListedIntent[] = [];
  let place = before;
  // Rows that only masked texts match make further rounds, so that an early end of the page does not reveal them.
  for (let round = 0; round < rounds_max; round += 1) {
    const wanted = round === 0 ? limit : Math.max(limit, round_rows_min);
    const { intent_ids, last_read } = await searchIntents(query, org_id, filter, place, wanted);
    const { rows, more } = await readListed(query, org_id, intent_ids);
    kept.push(...rows.filter((row) => stillMatches(listItem(caller, row), filter)));
    place = rows.at(-1)?.intent_id ?? place;
    if (kept.length >= limit) return { rows: kept.slice(0, limit), more: kept.length > limit, last_read: null };
    if (more) return { rows: kept, more: false, last_read: place };
    if (intent_ids.length < wanted) return { rows: kept, more: false, last_read };
  }
  return { rows: kept, more: false, last_read: place };
}

/** Returns false for a row that only its masked texts match, because a search must not reveal them. */
function stillMatches({ agent, action, payload, execution }: IntentListItem, filter: IntentFilter): boolean {
  const { session_id, on_behalf_of, target, text } = filter;
  return (
    (filter.execution === undefined || execution?.status === filter.execution) &&
    (session_id === undefined || agent.session_id === session_id) &&
    (on_behalf_of === undefined || agent.on_behalf_of === on_behalf_of) &&
    (target === undefined || action.target?.identifier === target) &&
    (text === undefined || payload?.summary?.toLowerCase().includes(text.toLowerCase()) === true)
  );
}

/** Limits a filter to the intents that the caller may see. Faults: forbidden (a key of one agent asks for another). */
export function ownFilter(caller: Caller, filter: IntentFilter): IntentFilter {
  const { agent_id } = caller;
  if (agent_id !== null && filter.agent_id !== undefined && filter.agent_id !== agent_id) {
    const message = `This key speaks for the agent ${JSON.stringify(agent_id)} only.`;
    throw faultAt("forbidden", "/agent_id", "agent", message);
  }
  return {
    ...filter,
    from: storableTime(filter.from),
    to: storableTime(filter.to),
    ...(agent_id === null ? {} : { agent_id }),
    ...(onlySubmits(caller.role) && caller.scope === "org" ? { lineage_id: caller.lineage_id ?? undefined } : {}),
  };
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
  confirmation: _confirmation,
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

export function decisionFor(caller: Caller, row: DecidedIntent): Decision & { readonly execution: Execution } {
  return wordedFor(caller, decisionOf(row), row.intent.other_wording);
}

function decisionOf(row: DecidedIntent): Decision & { readonly execution: Execution } {
  const erased = row.erased === null ? {} : { erased: row.erased };
  return { ...row.decision, ...row.resolution, execution: shownExecution(row.execution), ...erased };
}

export function intentRecord(row: Omit<DecidedIntent, "execution">): IntentRecord {
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
    ...(row.erased === null ? {} : { erased: row.erased }),
  };
}

/** Returns the action as people see it who did not submit it. */
export function actionForPeople(row: DecidedIntent): IntentRecord {
  return intentForPeople(intentRecord(row), maskingOfAction(row));
}

function listItem(caller: Caller, row: ListedIntent): IntentListItem {
  const { decision_id, verdict, outcome, status, risk_score, execution, reasons } = decisionFor(caller, row);
  const { afterwards } = row;
  const acting = reasons.find(({ effect }) => effect !== "none");
  const { policy_id, policy, message } = acting ?? {};
  const reason =
    policy === undefined || message === undefined ? null : { policy_id: policy_id ?? null, policy, message };
  const record = intentRecord(row);
  const shown = getsWhole(caller, row.lineage_id) ? record : actionForPeople(row);
  const stake = amountAtStake(shown.estimated_impact?.financial_exposure_usd, shown.payload?.content ?? null);
  return { ...shown, decision_id, verdict, outcome, status, risk_score, ...stake, execution, reason, afterwards };
}

function ancestorsOf({ ancestors }: MergedFacts): Pick<IntentAnswer, "ancestors"> {
  return ancestors === undefined ? {} : { ancestors: ancestors.map(({ id, source }) => ({ agent_id: id, source })) };
}

export function shownFacts(caller: Caller, facts: MergedFacts): UsedFacts {
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
