/** SQL for reading intents and the decisions on them, from the view `intents` of the ledger. Only the commit writer writes them. */
import type { Decision, Execution, IntentRecord, IntentSubmission, Reason } from "@countersign/contract";
import { type DecisionHeader, factsOf, type MergedFacts, parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { DecisionEntry } from "../commit/commit-writer-rows.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, firstIdAt, idTime_ms } from "../rows/first-id-at.ts";
import { isJsonObject } from "../rows/stored-json.ts";

/** What became of an action: a claim or a report. */
export interface StoredExecution {
  readonly status: Exclude<Execution["status"], "none">;
  /** RFC 3339. */
  readonly at: string;
  readonly actor: string;
}

/** The present decision on an intent. */
export interface StoredDecision {
  readonly intent_id: string;
  readonly agent_id: string;
  readonly membrane_id: string;
  readonly lineage_id: string | null;
  readonly status: "final" | "pending";
  /** The first answer, byte for byte. */
  readonly decision: string;
  /** The members of the decision that a ruling, a time limit or a cancellation replaced; null: none so far. */
  readonly resolution: Partial<Decision> | null;
  /** Null: nobody has claimed the action or reported anything. */
  readonly execution: StoredExecution | null;
}

/** What is stored of a submission. */
interface IntentDocument {
  readonly submitted: IntentSubmission["intent"];
  readonly decided_as: IntentRecord["decided_as"];
  /** The submitter's role may attest: a claim of human review in the content counts. */
  readonly attested?: boolean;
  /** JSON Pointers into payload.content that policies hid from people when they decided; absent: none. */
  readonly withheld?: readonly string[];
  /** JSON Pointers into payload.content that policies masked when they decided; absent: none. */
  readonly masked?: readonly string[];
  /** The hash of the Idempotency-Key that names the action; absent: none does. */
  readonly named_by?: string;
  /** Other reasons for some readers in place of the stored ones; absent: all readers get the same. */
  readonly other_wording?: OtherWording;
}

/** Reasons for agents where somebody else submitted, or for people where an agent did; by their place in the decision. */
export interface OtherWording {
  readonly to: "agents" | "people";
  readonly reasons: Readonly<Record<number, Pick<Reason, "message" | "unknown_facts">>>;
}

interface Headers extends Omit<DecisionHeader, "at"> {
  readonly mode: DecisionEntry["mode"];
  readonly verdict: DecisionEntry["verdict"];
  readonly status: "final" | "pending";
  readonly created_at: string;
}

/** An intent without its facts, as lists show it. */
export interface ListedIntent extends Headers {
  readonly intent: IntentDocument;
  /** The first answer. */
  readonly decision: Decision;
  readonly resolution: Partial<Decision> | null;
  readonly execution: StoredExecution | null;
}

/** An intent with the facts that it was decided on. */
export interface StoredIntent extends ListedIntent {
  readonly facts: MergedFacts;
}

/** Which intents a list shows. `from` is included, `to` is not; RFC 3339. */
export interface IntentFilter {
  readonly agent_id?: string | undefined;
  /** Submitted by a key of this chain of rotations. */
  readonly lineage_id?: string | undefined;
  readonly verdict?: DecisionEntry["verdict"] | undefined;
  readonly mode?: DecisionEntry["mode"] | undefined;
  readonly membrane_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** `unknown`: claimed, and nobody reported an outcome in time. */
  readonly execution?: "unknown" | undefined;
  /** The run that the agent named. There is no index of runs, so give a short time with it. */
  readonly session_id?: string | undefined;
}

/** SQL: all decisions, or those whose actions were claimed and have no report. Their index has them in the order of lists. */
const listed = {
  all: "from intents",
  unknown:
    "from (select intent_id as claimed_id from claims where org_id = $1 and unsettled) c join intents on intent_id = claimed_id",
};

const columns = `intent_id, decision_id, membrane_id, agent_id, actor, lineage_id, mode, verdict, status, escalation_id, override_id, intent, decision,
  resolution, execution, created_at`;

/** The first answer to an intent, byte for byte, what became of the action, and what other readers are told. */
type FirstAnswer = Pick<StoredDecision, "decision" | "execution"> & { readonly other_wording: OtherWording | null };

/** Returns the first answer to an intent. Throws if the intent is not stored. */
export async function readFirstAnswer(query: Query, org_id: string, intent_id: string): Promise<FirstAnswer> {
  const [row] = await query<FirstAnswer>(
    "select decision::text as decision, execution, intent -> 'other_wording' as other_wording from intents where org_id = $1 and intent_id = $2",
    [org_id, intent_id],
  );
  if (row === undefined) throw new Error(`${intent_id} is not stored`);
  return row;
}

/** Returns the decision on one intent, or undefined. */
export async function readDecision(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<StoredDecision | undefined> {
  const [row] = await readDecisions(query, org_id, [intent_id]);
  return row;
}

/** Returns the decisions on these intents, without those of other organizations, in no order. */
export function readDecisions(query: Query, org_id: string, intent_ids: readonly string[]): Promise<StoredDecision[]> {
  return query<StoredDecision>(
    `select intent_id, agent_id, membrane_id, lineage_id, status, decision::text as decision, resolution, execution from intents
     where org_id = $1 and intent_id = any ($2::text[])`,
    [org_id, intent_ids],
  );
}

/** Returns the present decision as JSON text: the first answer, with the members that the resolution replaced. */
export function currentDecision(stored: Pick<StoredDecision, "decision" | "resolution">): string {
  if (stored.resolution === null) return stored.decision;
  return JSON.stringify({ ...(JSON.parse(stored.decision) as Decision), ...stored.resolution });
}

/** Returns one intent with the facts that it was decided on, or undefined. Throws if its JSON has an unknown shape. */
export async function readIntent(query: Query, org_id: string, intent_id: string): Promise<StoredIntent | undefined> {
  const [row] = await query<IntentColumns>(
    `select ${columns}, facts from intents where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row === undefined ? undefined : storedIntent(row);
}

/** A row as the driver returns it: JSON columns are parsed, and their shape is unknown. */
interface IntentColumns extends Headers {
  readonly intent: unknown;
  readonly facts: unknown;
  readonly decision: unknown;
  readonly resolution: unknown;
  readonly execution: StoredExecution | null;
}

/**
 * Gives a row its types. It checks the members that reviews and overrides act on, because they would let an action through
 * by a record that was written in another form. The commit writer wrote the rest of the documents.
 */
function storedIntent({ intent, facts: facts_stored, decision, resolution, ...others }: IntentColumns): StoredIntent {
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

/** Returns at most `limit` intents, newest first, older than the intent `before` (null: from the newest). */
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
      columns,
      bytes: "octet_length(intent::text) + octet_length(decision::text) + coalesce(octet_length(resolution::text), 0)",
      from: `${listed[filter.execution ?? "all"]}
        where org_id = $1 and ($2::text is null or intent_id < $2) and ($3::text is null or agent_id = $3)
          and ($4::text is null or verdict = $4) and ($5::text is null or mode = $5)
          and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
          and ($8::text is null or intent_id >= $8) and ($9::text is null or intent_id < $9)
          and ($10::text is null or lineage_id = $10) and ($11::text is null or membrane_id = $11)
          and ($13::text is null or execution ->> 'status' = $13)
          and ($14::text is null or intent #>> '{submitted,agent,session_id}' = $14)`,
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
      filter.session_id ?? null,
    ],
  );
}

/** Returns the intents among these that are final, of all organizations. System scope. */
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
 * Returns the id that an intent of this moment would have, with slack on the given side. Ids begin with the milliseconds of
 * their time, so a list of last month's intents starts there in the primary key instead of walking back from today.
 */
export function idNear(time: string | undefined, side: -1 | 1): string | null {
  const at_us = time === undefined ? null : parseTimestampUs(time);
  return at_us === null ? null : idNearMs(Math.floor(at_us / 1000), side);
}

function idNearMs(at_ms: number, side: -1 | 1): string {
  return firstIdAt("intent", Math.max(0, at_ms + side * clock_slack_ms));
}

/**
 * Returns an id before which no intent of a filter lies; null: unknown. A key submits nothing before it is created, and a
 * membrane decides nothing before that. Without this bound, a new key that listed its few intents read all 670,000 of its
 * organization each time. An index by key would also serve old keys, but made writing an intent take 25 % longer, with 270
 * more bytes of log (measured).
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
