/** SQL that reads intents and decisions from the ledger's view `intents`. Only the commit writer writes them. */
import type {
  Decision,
  Erased,
  Execution,
  IntentListItem,
  IntentRecord,
  IntentSubmission,
  Reason,
} from "@countersign/contract";
import { type DecisionHeader, factsOf, type MergedFacts, parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { DecisionEntry } from "../commit/commit-writer-rows.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, firstIdAt, idTime_ms } from "../rows/first-id-at.ts";
import { isJsonObject } from "../rows/stored-json.ts";

export interface StoredExecution {
  readonly status: Exclude<Execution["status"], "none">;
  /** RFC 3339. */
  readonly at: string;
  readonly actor: string;
}

export interface StoredDecision {
  readonly intent_id: string;
  readonly agent_id: string;
  readonly membrane_id: string;
  readonly lineage_id: string | null;
  readonly status: "final" | "pending";
  /** The first answer, byte for byte. */
  readonly decision: string;
  /** Members that a ruling, a timeout or a cancellation replaced. */
  readonly resolution: Partial<Decision> | null;
  readonly execution: StoredExecution | null;
  /** Null: the decision has its content. */
  readonly erased: Erased | null;
}

interface IntentDocument {
  readonly submitted: IntentSubmission["intent"];
  readonly decided_as: IntentRecord["decided_as"];
  /** True: a claim of human review in the content counts. */
  readonly attested?: boolean;
  /** JSON Pointers into payload.content that policies redacted. */
  readonly withheld?: readonly string[];
  /** JSON Pointers into payload.content that policies masked. */
  readonly masked?: readonly string[];
  readonly named_by?: string;
  readonly other_wording?: OtherWording;
}

/** Reasons for agents if a person submitted, or for people if an agent did, by index. */
export interface OtherWording {
  readonly to: "agents" | "people";
  readonly reasons: Readonly<Record<number, Pick<Reason, "message" | "unknown_facts">>>;
}

interface Headers extends Omit<DecisionHeader, "at"> {
  readonly mode: DecisionEntry["mode"];
  readonly verdict: DecisionEntry["verdict"];
  readonly status: "final" | "pending";
  readonly created_at: string;
  /** Null: the intent has its content. */
  readonly erased: Erased | null;
}

export interface DecidedIntent extends Headers {
  readonly intent: IntentDocument;
  readonly decision: Decision;
  readonly resolution: Partial<Decision> | null;
  readonly execution: StoredExecution | null;
}

export interface ListedIntent extends DecidedIntent {
  readonly afterwards: IntentListItem["afterwards"];
}

export interface StoredIntent extends DecidedIntent {
  readonly facts: MergedFacts;
}

export type DecidedAction = Omit<StoredIntent, "execution">;

/** `from` is inclusive, `to` exclusive; RFC 3339. */
export interface IntentFilter {
  readonly agent_id?: string | undefined;
  readonly lineage_id?: string | undefined;
  readonly verdict?: DecisionEntry["verdict"] | undefined;
  readonly mode?: DecisionEntry["mode"] | undefined;
  readonly membrane_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `unknown`: claimed, but no outcome was reported in time. */
  readonly execution?: "unknown" | undefined;
  /** The run that the agent named. */
  readonly session_id?: string | undefined;
  readonly on_behalf_of?: string | undefined;
  /** The name of a rule that stopped or changed the action. */
  readonly rule?: string | undefined;
  readonly tool?: string | undefined;
  readonly target?: string | undefined;
  /** A part of the summary, in any case of its letters. */
  readonly text?: string | undefined;
  readonly outcome?: "waiting" | "overridden" | "executed" | "failed" | "withdrawn" | "contradicted" | undefined;
  /** Only decisions up to this audit record. */
  readonly seq?: number | undefined;
}

/** SQL: all decisions, or those with a claim and no report. */
const listed = {
  all: "from intents",
  unknown:
    "from (select intent_id as claimed_id from claims where org_id = $1 and unsettled) c join intents on intent_id = claimed_id",
};

const columns = `intent_id, decision_id, membrane_id, agent_id, actor, lineage_id, mode, verdict, status, escalation_id, override_id, intent, decision,
  resolution, created_at, erased`;

/** SQL: what happened to a decision afterwards, as names. */
const afterwards = `array_remove(array[
    case when verdict = 'block' and exists (select from overrides o where o.org_id = $1 and o.intent_id = intents.intent_id
      and o.approved_at is not null) then 'overridden' end,
    case when exists (select from escalations e where e.org_id = $1 and e.escalation_id = intents.escalation_id
      and (e.status = 'cancelled' or e.approval_revoked)) then 'withdrawn' end,
    case when exists (select from ledger c where c.org_id = $1 and c.intent_id = intents.intent_id and c.type = 'contradicted')
      then 'contradicted' end], null)`;

const listed_bytes =
  "octet_length(intent::text) + octet_length(decision::text) + coalesce(octet_length(resolution::text), 0)";

type FirstAnswer = Pick<StoredDecision, "decision" | "execution" | "erased"> & {
  readonly other_wording: OtherWording | null;
};

/** Returns the first answer to an intent. Throws if the intent is not stored. */
export async function readFirstAnswer(query: Query, org_id: string, intent_id: string): Promise<FirstAnswer> {
  const [row] = await query<FirstAnswer>(
    "select decision::text as decision, execution, erased, intent -> 'other_wording' as other_wording from intents where org_id = $1 and intent_id = $2",
    [org_id, intent_id],
  );
  if (row === undefined) throw new Error(`${intent_id} is not stored`);
  return row;
}

export async function readDecision(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<StoredDecision | undefined> {
  const [row] = await readDecisions(query, org_id, [intent_id]);
  return row;
}

/** Returns the decisions on these intents, in no order. Skips intents of other organizations. */
export function readDecisions(query: Query, org_id: string, intent_ids: readonly string[]): Promise<StoredDecision[]> {
  return query<StoredDecision>(
    `select intent_id, agent_id, membrane_id, lineage_id, status, decision::text as decision, resolution, execution, erased from intents
     where org_id = $1 and intent_id = any ($2::text[])`,
    [org_id, intent_ids],
  );
}

/** Returns the first answer with the members of its resolution, as JSON text. */
export function currentDecision(stored: Pick<StoredDecision, "decision" | "resolution">): string {
  if (stored.resolution === null) return stored.decision;
  return JSON.stringify({ ...(JSON.parse(stored.decision) as Decision), ...stored.resolution });
}

/** Returns one intent with its facts. Throws if its JSON has an unknown shape. */
export async function readIntent(query: Query, org_id: string, intent_id: string): Promise<StoredIntent | undefined> {
  const [row] = await query<IntentColumns>(
    `select ${columns}, execution, facts from intents where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row === undefined ? undefined : { ...decidedAction(row), execution: row.execution };
}

/** As `readIntent`, without what became of the action, which takes the database 1 ms more. */
export async function readAction(query: Query, org_id: string, intent_id: string): Promise<DecidedAction | undefined> {
  const [row] = await query<ActionColumns>(
    `select ${columns}, facts from intents where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row === undefined ? undefined : decidedAction(row);
}

/** Returns the commitments of the decision's entry in the ledger to its documents, in hex. */
export async function readCommitments(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<{ readonly intent_sha256: string; readonly data_sha256: string }> {
  const [row] = await query<{ intent_sha256: string; data_sha256: string }>(
    `select leaf ->> 'intent' as intent_sha256, leaf ->> 'data' as data_sha256 from (
       select ledger_leaf(l)::json as leaf from ledger l where org_id = $1 and intent_id = $2 and type = 'decided') decision`,
    [org_id, intent_id],
  );
  if (row === undefined) throw new Error(`${intent_id} is not stored`);
  return row;
}

interface IntentColumns extends ActionColumns {
  readonly execution: StoredExecution | null;
}

interface ActionColumns extends Headers {
  readonly intent: unknown;
  readonly facts: unknown;
  readonly decision: unknown;
  readonly resolution: unknown;
}

/** Checks the members that reviews and overrides use, because a record in another form could let an action through. */
function decidedAction({ intent, facts: facts_stored, decision, resolution, ...others }: ActionColumns): DecidedAction {
  const facts = factsOf(facts_stored);
  if (!isIntentDocument(intent) || facts === null || !isDecision(decision) || !isResolution(resolution))
    throw new Error(`${others.intent_id} is stored in an unknown form`);
  return { ...others, intent, facts, decision, resolution };
}

function isIntentDocument(value: unknown): value is IntentDocument {
  if (!isJsonObject(value) || !isJsonObject(value.submitted)) return false;
  const { agent, action } = value.submitted;
  return isJsonObject(agent) && isJsonObject(action) && typeof action.verb === "string";
}

function isDecision(value: unknown): value is Decision {
  if (!isJsonObject(value) || typeof value.verdict !== "string") return false;
  return Array.isArray(value.reasons) && Array.isArray(value.modifications);
}

function isResolution(value: unknown): value is Partial<Decision> | null {
  return value === null || isJsonObject(value);
}

/** Returns intents older than `before`, newest first. */
export function listIntents(
  query: Query,
  org_id: string,
  filter: IntentFilter,
  before: string | null,
  limit: number,
): Promise<BoundedPage<ListedIntent>> {
  return readBounded<ListedIntent>(
    query,
    {
      columns: `${columns}, execution, ${afterwards} as afterwards`,
      bytes: listed_bytes,
      from: `${listed[filter.execution ?? "all"]}
        where org_id = $1 and ($2::text is null or intent_id < $2) and ($3::text is null or agent_id = $3)
          and ($4::text is null or verdict = $4) and ($5::text is null or mode = $5)
          and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
          and ($8::text is null or intent_id >= $8) and ($9::text is null or intent_id < $9)
          and ($10::text is null or lineage_id = $10) and ($11::text is null or membrane_id = $11)
          and ($13::text is null or execution ->> 'status' = $13)
          and ($14::bigint is null or seq <= $14)`,
      order: "intent_id desc",
      limit: "$12::integer",
    },
    [
      org_id,
      before,
      filter.agent_id ?? null,
      filter.verdict ?? null,
      filter.mode ?? null,
      filter.from ?? null,
      filter.to ?? null,
      earliestId(filter),
      idNear(filter.to, 1),
      filter.lineage_id ?? null,
      filter.membrane_id ?? null,
      limit,
      filter.execution ?? null,
      filter.seq ?? null,
    ],
  );
}

/** Returns these intents, newest first. */
export function readListed(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
): Promise<BoundedPage<ListedIntent>> {
  return readBounded<ListedIntent>(
    query,
    {
      columns: `${columns}, execution, ${afterwards} as afterwards`,
      bytes: listed_bytes,
      from: "from intents where org_id = $1 and intent_id = any ($2::text[])",
      order: "intent_id desc",
      limit: "$3::integer",
    },
    [org_id, intent_ids, intent_ids.length],
  );
}

/** Returns those of these intents that are final. System scope. */
export function readFinal(
  query: Query,
  intents: readonly { readonly org_id: string; readonly intent_id: string }[],
): Promise<{ org_id: string; intent_id: string }[]> {
  return query<{ org_id: string; intent_id: string }>(
    `select i.org_id, i.intent_id from unnest($1::text[], $2::text[]) as w(org_id, intent_id)
     join intents i on i.org_id = w.org_id and i.intent_id = w.intent_id where i.status = 'final'`,
    [intents.map((each) => each.org_id), intents.map((each) => each.intent_id)],
  );
}

/**
 * Returns the id of an intent at this time, moved by the clock slack to the given side. Ids begin with their
 * milliseconds, so a query starts there in the primary key.
 */
export function idNear(time: string | undefined, side: -1 | 1): string | null {
  const at_us = time === undefined ? null : parseTimestampUs(time);
  return at_us === null ? null : idNearMs(Math.floor(at_us / 1000), side);
}

function idNearMs(at_ms: number, side: -1 | 1): string {
  return firstIdAt("intent", Math.max(0, at_ms + side * clock_slack_ms));
}

/**
 * Returns a lower bound for the ids of a filter; null: none. An intent is younger than its key and its membrane.
 * Without this bound, listing the few intents of a new key read all 670,000 intents. An index by key made writes 25 %
 * slower.
 */
export function earliestId({
  from,
  lineage_id,
  membrane_id,
}: Pick<IntentFilter, "from" | "lineage_id" | "membrane_id">): string | null {
  const begins = [lineage_id, membrane_id].flatMap((id) => {
    const made_ms = id === undefined ? null : idTime_ms(id);
    return made_ms === null ? [] : [idNearMs(made_ms, -1)];
  });
  const begun = idNear(from, -1);
  return [...begins, ...(begun === null ? [] : [begun])].sort().at(-1) ?? null;
}
