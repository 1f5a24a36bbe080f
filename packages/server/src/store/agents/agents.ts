/** SQL for the register of agents. Changes by people hold the lock of the organization's head. */
import { foldName, limits, type RegisteredAgent } from "@countersign/contract";
import type { Parents } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** A registered agent without its freezes. */
export type AgentRow = Omit<RegisteredAgent, "status" | "freezes">;

/** SQL for the registered parents in `$1`, as JSON pairs of folded id and parent's id. */
export const registered_parents: string = `(select json_agg(json_build_array(a.subject, p.agent_id))
    from agents a join agents p on p.org_id = $1 and p.subject = a.parent where a.org_id = $1 and a.parent is not null)`;

export function parentsOf(rows: readonly (readonly [string, string])[] | null): Parents {
  return new Map(rows ?? []);
}

/** Exact only under the head's lock. */
export async function readParents(query: Query, org_id: string): Promise<Parents> {
  const [row] = await query<{ parents: [string, string][] | null }>(`select ${registered_parents} as parents`, [
    org_id,
  ]);
  return parentsOf(row?.parents ?? null);
}

export async function countWithParent(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    "select count(*)::integer as count from agents where org_id = $1 and parent is not null",
    [org_id],
  );
  return row?.count ?? 0;
}

const columns = `a.agent_id, a.owner, a.purpose, p.agent_id as parent_id, a.registered_by, a.registered_at, a.first_seen_at, a.last_seen_at`;
const from = "from agents a left join agents p on p.org_id = $1 and p.subject = a.parent";

/** Finds the agent by any spelling of its id. */
export async function readAgent(query: Query, org_id: string, agent_id: string): Promise<AgentRow | undefined> {
  const [row] = await query<AgentRow>(`select ${columns} ${from} where a.org_id = $1 and a.subject = $2`, [
    org_id,
    foldName(agent_id),
  ]);
  return row;
}

/** Sorted by folded ids; starts after the folded id `after`. */
export function listAgents(
  query: Query,
  org_id: string,
  prefix: string,
  after: string | null,
  limit: number,
): Promise<AgentRow[]> {
  return query<AgentRow>(
    `select ${columns} ${from}
     where a.org_id = $1 and ($2::text is null or a.subject > $2) and a.subject >= $3 and starts_with(a.subject, $3)
     order by a.subject limit $4::integer`,
    [org_id, after, foldName(prefix), limit],
  );
}

/** Days that a row of the list shows, with today. */
export const work_days = 7;

export interface AgentWork {
  readonly agent_id: string;
  /** `day`: 0 is the first of the shown days. Days without decisions are left out. */
  readonly days: readonly { readonly day: number; readonly decisions: number; readonly held: number }[];
  readonly open_reviews: number;
}

/** Reads the figures of these agents and counts their open reviews. `today`: its beginning (UTC), RFC 3339. */
export async function readWorkOf(
  query: Query,
  org_id: string,
  agents: readonly Pick<AgentRow, "agent_id">[],
  today: string,
): Promise<ReadonlyMap<string, AgentWork>> {
  // Passes the kind as a list. With a single value, PostgreSQL would read all agents.
  const rows = await query<AgentWork>(
    `select a.agent_id, (
       select coalesce(json_agg(json_build_object('day', day, 'decisions', decisions, 'held', held)), '[]') from (
         select d.day, sum(f.count)::integer as decisions, sum(f.held)::integer as held
         from unnest(a.spellings) as s(item) cross join generate_series(0, ${work_days - 1}) as d(day)
         cross join unnest(array['live', 'shadow']) as m(mode) cross join unnest(array['agent']) as k(kind)
         cross join lateral (
           select count, held from figures where org_id = $1 and membrane_id = '' and kind = k.kind and mode = m.mode and span = 'day'
             and begins = $3::timestamptz - make_interval(days => ${work_days - 1} - d.day) and item = s.item offset 0) f
         group by d.day) summed) as days, (
       select count(*)::integer from escalations e
       where e.org_id = $1 and e.agent_id = any (a.spellings) and e.mode = 'live' and e.status = 'pending') as open_reviews
     from agents a where a.org_id = $1 and a.subject = any ($2::text[])`,
    [org_id, agents.map(({ agent_id }) => foldName(agent_id)), today],
  );
  return new Map(rows.map((row) => [row.agent_id, row]));
}

export async function readChildren(query: Query, org_id: string, agent_id: string, limit: number): Promise<string[]> {
  const rows = await query<{ agent_id: string }>(
    "select agent_id from agents where org_id = $1 and parent = $2 order by subject limit $3::integer",
    [org_id, foldName(agent_id), limit],
  );
  return rows.map((row) => row.agent_id);
}

export interface NewAgent extends Pick<AgentRow, "agent_id" | "owner" | "purpose" | "parent_id"> {
  readonly registered_by: string;
  /** By the database's clock, RFC 3339. */
  readonly at: string;
}

/** Writes an entry. An existing one keeps its id, its spellings and the times of its actions. */
export async function writeAgent(query: Query, org_id: string, agent: NewAgent): Promise<void> {
  await query(
    `insert into agents (org_id, subject, agent_id, spellings, owner, purpose, parent, registered_by, registered_at)
     values ($1, $2, $3, '{}', $4, $5, $6, $7, $8::timestamptz)
     on conflict (org_id, subject) do update set owner = excluded.owner, purpose = excluded.purpose, parent = excluded.parent,
       registered_by = excluded.registered_by, registered_at = excluded.registered_at`,
    [
      ...[org_id, foldName(agent.agent_id), agent.agent_id, agent.owner, agent.purpose],
      ...[agent.parent_id === null ? null : foldName(agent.parent_id), agent.registered_by, agent.at],
    ],
  );
}

/** The decisions of one spelling of an agent's id. Times are RFC 3339. */
export interface SeenAgent {
  readonly agent_id: string;
  readonly first_at: string;
  readonly last_at: string;
}

const spellings_max = 20;

/**
 * SQL that notes actions of agents. `seen`: rows (subject, agent_id, first_at, last_at), one for each spelling. A time
 * less than a minute later changes nothing.
 */
export function noteSeen(seen: string): string {
  return `insert into agents as a (org_id, subject, agent_id, spellings, first_seen_at, last_seen_at)
     select $1, subject, min(agent_id), (array_agg(agent_id order by agent_id))[1:${spellings_max}], min(first_at), max(last_at)
     from ${seen} as s(subject, agent_id, first_at, last_at) group by subject order by subject
     on conflict (org_id, subject) do update set
       spellings = (select (array_agg(distinct each))[1:${spellings_max}] from unnest(a.spellings || excluded.spellings) each),
       first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
       last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at)
     where a.first_seen_at is null or excluded.first_seen_at < a.first_seen_at
       or excluded.last_seen_at > a.last_seen_at + interval '1 minute' or not excluded.spellings <@ a.spellings`;
}

export async function noteAgentsSeen(query: Query, org_id: string, seen: readonly SeenAgent[]): Promise<void> {
  await query(noteSeen("unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])"), [
    org_id,
    seen.map(({ agent_id }) => foldName(agent_id)),
    seen.map(({ agent_id }) => agent_id),
    seen.map(({ first_at }) => first_at),
    seen.map(({ last_at }) => last_at),
  ]);
}

export async function readSpellings(query: Query, org_id: string, agent_id: string): Promise<string[]> {
  const [row] = await query<{ spellings: string[] }>(
    "select spellings from agents where org_id = $1 and subject = $2",
    [org_id, foldName(agent_id)],
  );
  return row?.spellings ?? [];
}

export interface AgentActions {
  readonly membrane_id: string;
  readonly verb: string;
  readonly type: string | null;
  readonly data_classes: readonly string[] | null;
  readonly verdict: "approve" | "approve_modified" | "escalate" | "block";
  readonly count: number;
  readonly risk_sum: number;
  readonly risk_max: number;
}

/** Reads the newest decisions since `from_at` (RFC 3339), without test mode. */
export function readAgentActions(
  query: Query,
  org_id: string,
  spellings: readonly string[],
  from_at: string,
): Promise<AgentActions[]> {
  return query<AgentActions>(
    `select membrane_id, verb, type, data_classes::json as data_classes, verdict, count(*)::integer as count, sum(risk) as risk_sum,
       max(risk) as risk_max
     from (select membrane_id, verdict, intent #>> '{submitted,action,verb}' as verb, intent #>> '{submitted,action,type}' as type,
         intent #>> '{submitted,data_classes}' as data_classes, (decision ->> 'risk_score')::double precision as risk
       from unnest($2::text[]) as s(agent_id) cross join lateral (
         select membrane_id, verdict, intent, decision, intent_id from intents i
         where i.org_id = $1 and i.agent_id = s.agent_id and i.created_at >= $3::timestamptz and i.mode <> 'test'
         order by i.intent_id desc limit ${limits.agent_decisions_read_max + 1}) found
       order by intent_id desc limit ${limits.agent_decisions_read_max + 1}) newest
     group by membrane_id, verb, type, newest.data_classes, verdict`,
    [org_id, spellings, from_at],
  );
}

export async function readOpenReviews(
  query: Query,
  org_id: string,
  spellings: readonly string[],
  ids_max: number,
): Promise<{ readonly count: number; readonly escalation_ids: string[] }> {
  const [row] = await query<{ count: number; escalation_ids: string[] | null }>(
    `select count(*)::integer as count, (array_agg(escalation_id order by escalation_id desc))[1:$3::integer] as escalation_ids
     from escalations where org_id = $1 and agent_id = any ($2::text[]) and status = 'pending'`,
    [org_id, spellings, ids_max],
  );
  return { count: row?.count ?? 0, escalation_ids: row?.escalation_ids ?? [] };
}

export interface AgentTool extends Pick<AgentActions, "membrane_id" | "verb" | "type" | "data_classes"> {
  /** The folded id of the agent. */
  readonly subject: string;
}

/** Reads the tools of the newest actions of each agent since `from_at` (RFC 3339), without test mode. */
export function readNewestTools(
  query: Query,
  org_id: string,
  agents: readonly Pick<AgentRow, "agent_id">[],
  from_at: string,
): Promise<AgentTool[]> {
  return query<AgentTool>(
    `select distinct a.subject, membrane_id, intent #>> '{submitted,action,verb}' as verb, intent #>> '{submitted,action,type}' as type,
       (intent #> '{submitted,data_classes}')::jsonb as data_classes
     from agents a cross join lateral (
       select i.membrane_id, i.intent from unnest(a.spellings) as s(agent_id) cross join lateral (
         select membrane_id, intent, intent_id from intents
         where org_id = $1 and agent_id = s.agent_id and created_at >= $3::timestamptz and mode <> 'test'
         order by intent_id desc limit ${limits.agent_tools_read_max}) i
       order by i.intent_id desc limit ${limits.agent_tools_read_max}) newest
     where a.org_id = $1 and a.subject = any ($2::text[])`,
    [org_id, agents.map(({ agent_id }) => foldName(agent_id)), from_at],
  );
}
