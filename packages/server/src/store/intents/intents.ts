/** SQL for reading intents and the decisions on them. They are written by the commit writer only. Source: api.md §4. */
import { parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { IntentRow } from "../commit/commit-writer-rows.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { clock_slack_ms, firstIdAt, idTime_ms } from "../rows/first-id-at.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The decision on an intent as it stands. */
export interface StoredDecision {
  readonly intent_id: string;
  readonly agent_id: string;
  readonly lineage_id: string | null;
  readonly status: "final" | "pending";
  /** The first answer, byte for byte. */
  readonly decision: string;
  /** The members of the decision that a ruling, a time limit or a cancellation replaced; null: none so far. */
  readonly resolution: JsonObject | null;
}

/** An intent without its facts. */
export interface StoredIntent extends Omit<IntentRow, "fingerprint" | "intent" | "facts" | "decision"> {
  readonly intent: JsonObject;
  readonly decision: JsonObject;
  readonly resolution: JsonObject | null;
}

/** Which intents a list shows. `from` is included, `to` is not; RFC 3339. */
export interface IntentFilter {
  readonly agent_id?: string | undefined;
  /** Submitted by a key of this chain of rotations. */
  readonly lineage_id?: string | undefined;
  readonly verdict?: IntentRow["verdict"] | undefined;
  readonly mode?: IntentRow["mode"] | undefined;
  readonly membrane_id?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const columns = `intent_id, decision_id, membrane_id, agent_id, key_id, lineage_id, mode, verdict, status, escalation_id, intent, decision,
  resolution, created_at`;

/** The first answer to an intent that is known to be stored, byte for byte. */
export async function readFirstAnswer(query: Query, org_id: string, intent_id: string): Promise<string> {
  const [row] = await query<{ decision: string }>(
    "select decision::text as decision from intents where org_id = $1 and intent_id = $2",
    [org_id, intent_id],
  );
  if (row === undefined) throw new Error(`${intent_id} is not stored`);
  return row.decision;
}

/** The decision on one intent, or undefined. */
export async function readDecision(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<StoredDecision | undefined> {
  const [row] = await readDecisions(query, org_id, [intent_id]);
  return row;
}

/** The decisions on those of these intents that the organization has, in no order. */
export function readDecisions(query: Query, org_id: string, intent_ids: readonly string[]): Promise<StoredDecision[]> {
  return query<StoredDecision>(
    `select intent_id, agent_id, lineage_id, status, decision::text as decision, resolution from intents
     where org_id = $1 and intent_id = any ($2::text[])`,
    [org_id, intent_ids],
  );
}

/** The decision as it stands now, as JSON text: the first answer, with the members that the resolution replaced. */
export function currentDecision(stored: Pick<StoredDecision, "decision" | "resolution">): string {
  if (stored.resolution === null) return stored.decision;
  return JSON.stringify({ ...(JSON.parse(stored.decision) as JsonObject), ...stored.resolution });
}

/** One intent with the facts it was decided on, or undefined. */
export async function readIntent(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<(StoredIntent & { readonly facts: JsonObject }) | undefined> {
  const [row] = await query<StoredIntent & { facts: JsonObject }>(
    `select ${columns}, facts from intents where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row;
}

/** At most `limit` intents, newest first, older than the intent `before` (null: from the newest). */
export function listIntents(
  query: Query,
  org_id: string,
  filter: IntentFilter,
  before: string | null,
  limit: number,
): Promise<BoundedPage<StoredIntent>> {
  return readBounded<StoredIntent>(
    query,
    {
      columns,
      bytes: "octet_length(intent::text) + octet_length(decision::text) + coalesce(octet_length(resolution::text), 0)",
      from: `from intents
        where org_id = $1 and ($2::text is null or intent_id < $2) and ($3::text is null or agent_id = $3)
          and ($4::text is null or verdict = $4) and ($5::text is null or mode = $5)
          and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
          and ($8::text is null or intent_id >= $8) and ($9::text is null or intent_id < $9)
          and ($10::text is null or lineage_id = $10) and ($11::text is null or membrane_id = $11)`,
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
    ],
  );
}

/** Which of these intents are final, whatever organization they belong to. System scope. */
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
 * Where in the order of ids a moment lies, with slack on the given side: ids begin with the milliseconds of their time, so
 * a list of last month's intents starts there in the primary key instead of walking back from today.
 */
export function idNear(time: string | undefined, side: -1 | 1): string | null {
  const at_us = time === undefined ? null : parseTimestampUs(time);
  return at_us === null ? null : idNearMs(Math.floor(at_us / 1000), side);
}

function idNearMs(at_ms: number, side: -1 | 1): string {
  return firstIdAt("intent", Math.max(0, at_ms + side * clock_slack_ms));
}

/**
 * Before which no intent of a filter lies. No key submitted anything before it was made, and nothing was decided in a membrane:
 * without that, a new key that listed its few intents read all 670,000 of its organization each time. An index by keys would
 * find those of old keys, too; it made writing an intent take a quarter longer, with 270 bytes more of log (measured).
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
