/** SQL that searches decisions by members without an index. See docs/decisions/0056-searching-decisions.md */
import type { Query } from "../../ports.ts";
import { earliestId, type IntentFilter, idNear } from "./intents.ts";

/** Decisions that one request reads. They take at most 0.5 s on a quiet machine with two cores. */
const searched_max = 40_000;
/** The same where each decision needs a look at its reports. */
const reported_max = 10_000;

export interface Found {
  /** Newest first, up to the limit. */
  readonly intent_ids: readonly string[];
  /** The last decision that was read; null: the page is full, or nothing is left to read. */
  readonly last_read: string | null;
}

const reviewed = (where: string) =>
  `exists (select from escalations e where e.org_id = $1 and e.escalation_id = l.escalation_id and ${where})`;

/** SQL: conditions on a decision `l`. `only`: one that an index serves, so that the search reads fewer. */
const outcomes: Readonly<Record<NonNullable<IntentFilter["outcome"]>, { readonly only: string; readonly is: string }>> =
  {
    waiting: { only: "l.verdict = 'escalate'", is: reviewed("e.status = 'pending'") },
    withdrawn: { only: "l.verdict = 'escalate'", is: reviewed("(e.status = 'cancelled' or e.approval_revoked)") },
    overridden: {
      only: "l.verdict = 'block'",
      is: "exists (select from overrides o where o.org_id = $1 and o.intent_id = l.intent_id and o.approved_at is not null)",
    },
    contradicted: {
      only: `l.intent_id = any (array(
        select c.intent_id from ledger c where c.org_id = $1 and c.type = 'contradicted' order by c.seq desc limit 10000))`,
      is: "true",
    },
    executed: { only: "true", is: reported("executed") },
    failed: { only: "true", is: reported("failed") },
  };

function reported(status: "executed" | "failed"): string {
  return `exists (select from intents i where i.org_id = $1 and i.intent_id = l.intent_id and i.execution ->> 'status' = '${status}')`;
}

export function isSearch({ session_id, on_behalf_of, rule, tool, target, text, outcome }: IntentFilter): boolean {
  return [session_id, on_behalf_of, rule, tool, target, text, outcome].some((each) => each !== undefined);
}

function readMax({ outcome }: IntentFilter): number {
  return outcome === "executed" || outcome === "failed" ? reported_max : searched_max;
}

/** Searches the decisions before `before`, newest first, until `limit` are found or as many are read as one request may. */
export async function searchIntents(
  query: Query,
  org_id: string,
  filter: IntentFilter,
  before: string | null,
  limit: number,
  read_max = readMax(filter),
): Promise<Found> {
  const { outcome } = filter;
  const by_outcome = outcome === undefined ? { only: "true", is: "true" } : outcomes[outcome];
  const read = `from ledger l where l.org_id = $1 and l.type = 'decided' and ($2::text is null or l.intent_id < $2)
      and ($3::text is null or l.agent_id = $3) and ($4::text is null or l.verdict = $4) and ($5::text is null or l.mode = $5)
      and ($6::timestamptz is null or l.at >= $6) and ($7::timestamptz is null or l.at < $7)
      and ($8::text is null or l.intent_id >= $8) and ($9::text is null or l.intent_id < $9)
      and ($10::text is null or l.lineage_id = $10) and ($11::text is null or l.membrane_id = $11)
      and ($12::text is null or l.verdict <> 'approve') and ($13::bigint is null or l.seq <= $13) and ${by_outcome.only}
    order by l.intent_id desc limit ${read_max}`;
  const given = givenIn(org_id, filter, before);
  const rows = await query<{ intent_id: string }>(
    `select l.intent_id from (select l.intent_id, l.escalation_id, coalesce(l.intent, l.kept -> 'intent') as intent,
         coalesce(l.data, l.kept -> 'data') as data ${read}) l
     where ($14::text is null or l.intent #>> '{submitted,action,verb}' = $14)
       and ($15::text is null or l.intent #>> '{submitted,action,target,identifier}' = $15)
       and ($16::text is null or l.intent #>> '{submitted,agent,session_id}' = $16)
       and ($17::text is null or l.intent #>> '{submitted,agent,on_behalf_of}' = $17)
       and ($18::text is null or strpos(lower(l.intent #>> '{submitted,payload,summary}'), lower($18)) > 0)
       and ($12::text is null or exists (
         select from json_to_recordset(l.data -> 'reasons') as reason(policy text, effect text) where policy = $12 and effect <> 'none'))
       and ${by_outcome.is}
     order by l.intent_id desc limit $19::integer`,
    [...given, ...searchedIn(filter), limit],
  );
  const intent_ids = rows.map(({ intent_id }) => intent_id);
  if (intent_ids.length === limit) return { intent_ids, last_read: null };
  const [ended] = await query<{ last: string | null; full: boolean }>(
    `select min(intent_id) as last, count(*) = ${read_max} as full from (select l.intent_id ${read}) l`,
    given,
  );
  return { intent_ids, last_read: ended?.full === true ? ended.last : null };
}

function givenIn(org_id: string, filter: IntentFilter, before: string | null): unknown[] {
  const { agent_id = null, verdict = null, mode = null, from = null, to = null, rule = null, seq = null } = filter;
  const { lineage_id = null, membrane_id = null } = filter;
  const bounds = [earliestId(filter), idNear(filter.to, 1)];
  return [org_id, before, agent_id, verdict, mode, from, to, ...bounds, lineage_id, membrane_id, rule, seq];
}

function searchedIn({ tool, target, session_id, on_behalf_of, text }: IntentFilter): (string | null)[] {
  return [tool ?? null, target ?? null, session_id ?? null, on_behalf_of ?? null, text ?? null];
}
