/** SQL that searches the audit trail by members without an index. See docs/decisions/0061-people-and-the-audit-trail.md */
import type { AuditType, OrgAuditRecord } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import {
  entriesOfType,
  isOfTheRest,
  type MaybeErased,
  ofTheRest,
  type StoredAudit,
  seqNear,
  trail_columns,
  withoutNull,
} from "./audit.ts";

/** Entries that one request reads. They take about 0.5 s of the database's processor time. */
const searched_max = 20_000;
/** An agent or a policy with more decisions is so frequent that reading the trail finds it. */
const known_intents_max = 2_000;
const stopped_max = 10_000;

/** `from` is inclusive, `to` exclusive; RFC 3339. */
export interface TrailSearch {
  readonly type?: AuditType | undefined;
  /** Absent: any. */
  readonly actors?: readonly string[] | undefined;
  readonly agent_id?: string | undefined;
  /** A verb or an action type. */
  readonly action?: string | undefined;
  /** A policy's name or id. */
  readonly policy?: string | undefined;
  readonly text?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface FoundEntries {
  /** `ledger.seq`, newest first, up to the limit. */
  readonly seqs: readonly number[];
  /** The search goes on before this record. Null: nothing is left to read. */
  readonly next: number | null;
  /** The time of the last entry that was read. Null: the page is full, or nothing is left. */
  readonly searched_to: string | null;
}

/** Adds a parameter and returns its SQL. */
type Param = (value: unknown, type: string) => string;

function paramsOf(org_id: string): { readonly params: unknown[]; readonly param: Param } {
  const params: unknown[] = [org_id];
  return { params, param: (value, type) => `$${params.push(value)}::${type}` };
}

/** SQL: the number of the entry's first record. */
const first_record =
  "l.seq - case when l.type = 'decided' then 1 + num_nonnulls(l.escalation_id, l.override_id) else 0 end";
const records_max = 4;
const columns = `l.seq, l.at, l.type, l.actor, l.intent_id, l.escalation_id, l.override_id,
  coalesce(l.data, l.kept -> 'data') as data`;

/** Searches the entries before the record `before`, newest first, until `limit` are found or `read_max` are read. */
export async function searchTrail(
  query: Query,
  org_id: string,
  search: TrailSearch,
  before: number | null,
  limit: number,
  read_max = searched_max,
): Promise<FoundEntries> {
  const intent_ids = await knownIntents(query, org_id, search);
  const { params, param } = paramsOf(org_id);
  const source = sourceOf(search, intent_ids, before, read_max, param);
  const source_params = [...params];
  // `offset 0` keeps the look-up by index. As a join, it may read every decision of the organization.
  const found = await query<{ seq: number; first: number }>(
    `select l.seq, ${first_record} as first from (${source}) l
     left join lateral (select d.agent_id, d.verdict, d.intent, d.data from ledger d
       where d.org_id = $1 and d.type = 'decided' and d.intent_id = l.intent_id offset 0) d on true
     where ${matching(search, param).join(" and ")} order by l.seq desc limit ${param(limit, "integer")}`,
    params,
  );
  const seqs = found.map(({ seq }) => seq);
  if (seqs.length === limit) return { seqs, next: found.at(-1)?.first ?? null, searched_to: null };
  const all = { seqs, next: null, searched_to: null };
  if (intent_ids !== null) return all;
  const [ended] = await query<{ next: number | null; at: string | null; full: boolean }>(
    `select min(${first_record}) as next, min(l.at) as at, count(*) = ${read_max} as full from (${source}) l`,
    source_params,
  );
  return ended?.full === true ? { seqs, next: ended.next, searched_to: ended.at } : all;
}

/** Returns SQL for the entries that the search reads. With `intent_ids` they are complete, else the newest `read_max`. */
function sourceOf(
  { type, actors, agent_id, policy, from, to }: TrailSearch,
  intent_ids: readonly string[] | null,
  before: number | null,
  read_max: number,
  param: Param,
): string {
  const conditions = ["l.org_id = $1", ...(isFrequent(type) ? [] : entriesOfType(type, "l.type", param))];
  if (before !== null) {
    const place = param(before, "bigint");
    conditions.push(`l.seq < ${place} + ${records_max}`, `${first_record} < ${place}`);
  }
  for (const [time, side, compare] of [[from, -1, ">="] as const, [to, 1, "<"] as const]) {
    if (time === undefined) continue;
    const at = param(time, "timestamptz");
    conditions.push(`l.at ${compare} ${at}`, `l.seq ${compare} ${seqNear(at, side)}`);
  }
  const read = (...more: string[]) => `select ${columns} from ledger l where ${[...conditions, ...more].join(" and ")}`;
  const newest = `order by l.seq desc limit ${read_max}`;
  if (intent_ids !== null) {
    const ids = param(intent_ids, "text[]");
    const of_intents = ["= 'decided'", "<> 'decided'"].map((is) => read(`l.type ${is}`, `l.intent_id = any (${ids})`));
    return [...of_intents, read("l.intent_id is null", ownChanges(agent_id, policy, param))].join(" union all ");
  }
  // Keys have no index, so reading them would not end.
  if (actors === undefined || !actors.every(isOfTheRest)) return `${read()} ${newest}`;
  return `select l.* from unnest(${param(actors, "text[]")}) as asked(actor)
    cross join lateral (${read("l.actor = asked.actor", ofTheRest("l.actor"))} ${newest}) l ${newest}`;
}

/** Returns true for types without an index, because nearly every decision has them. */
function isFrequent(type: AuditType | undefined): boolean {
  return type === "delivered" || type === "observed";
}

const agentChanges = ["agent_registered", "frozen", "unfreeze_requested", "unfrozen"];
const policyChanges = ["policy_saved", "policy_activated", "policy_retired"];
const listed = (types: readonly string[]) => types.map((type) => `'${type}'`).join(", ");

/** SQL: the entry `l` is a change of this agent. */
const isOfAgent = (agent: string): string => `(l.type in (${listed(agentChanges)})
  and ${agent} in (l.data ->> 'agent_id', case l.data ->> 'kind' when 'agent' then l.data ->> 'name' end))`;

/** SQL: the entry `l` is a change of this policy. */
const isOfPolicy = (policy: string): string =>
  `(l.type in (${listed(policyChanges)}) and ${policy} in (l.data ->> 'name', l.data ->> 'policy_id'))`;

function ownChanges(agent_id: string | undefined, policy: string | undefined, param: Param): string {
  const changes: string[] = [];
  if (agent_id !== undefined) changes.push(isOfAgent(param(agent_id, "text")));
  if (policy !== undefined) changes.push(isOfPolicy(param(policy, "text")));
  return `(${changes.join(" or ")})`;
}

/** SQL: a rule of this policy stopped or changed the decision `d`. */
const restsOn = (policy: string): string => `(d.verdict <> 'approve' and exists (
  select from json_to_recordset(d.data -> 'reasons') as reason(policy text, policy_id text, effect text)
  where ${policy} in (reason.policy, reason.policy_id) and reason.effect <> 'none'))`;

const verb = "d.intent #>> '{submitted,action,verb}'";
const action_type = "d.intent #>> '{decided_as,type}'";
const target = "d.intent #>> '{submitted,action,target,identifier}'";

/** Returns SQL conditions on an entry `l` and its decision `d`. */
function matching({ type, actors, agent_id, action, policy, text }: TrailSearch, param: Param): string[] {
  const conditions = ["true", ...entriesOfType(type, "l.type", param)];
  if (actors !== undefined) conditions.push(`l.actor = any (${param(actors, "text[]")})`);
  if (agent_id !== undefined) {
    const agent = param(agent_id, "text");
    conditions.push(`(d.agent_id = ${agent} or ${isOfAgent(agent)})`);
  }
  if (action !== undefined) conditions.push(`${param(action, "text")} in (${verb}, ${action_type})`);
  if (policy !== undefined) {
    const name = param(policy, "text");
    conditions.push(`(${restsOn(name)} or ${isOfPolicy(name)})`);
  }
  if (text !== undefined) {
    // As JSON writes it.
    const in_json = param(JSON.stringify(text).slice(1, -1), "text");
    const about = `concat_ws(U&'\\001e', d.agent_id, ${verb}, ${action_type}, ${target})`;
    conditions.push(`((l.type <> 'decided' and strpos(lower(l.data::text), lower(${in_json})) > 0)
      or strpos(lower(${about}), lower(${param(text, "text")})) > 0)`);
  }
  return conditions;
}

/** Returns all decisions of a rare agent, or those that a rare policy stopped or changed. Null: they are too many. */
async function knownIntents(
  query: Query,
  org_id: string,
  { agent_id, policy }: TrailSearch,
): Promise<readonly string[] | null> {
  if (agent_id !== undefined) {
    const rows = await query<{ intent_id: string }>(
      `select intent_id from ledger where org_id = $1 and type = 'decided' and agent_id = $2
       order by intent_id desc limit ${known_intents_max + 1}`,
      [org_id, agent_id],
    );
    if (rows.length <= known_intents_max) return rows.map(({ intent_id }) => intent_id);
  }
  if (policy === undefined) return null;
  const [read] = await query<{ count: number; intent_ids: string[] }>(
    `select count(*)::integer as count, coalesce(array_agg(d.intent_id) filter (where ${restsOn("$2")}), '{}') as intent_ids
     from (select intent_id, verdict, data from ledger where org_id = $1 and type = 'decided' and verdict <> 'approve'
       order by intent_id desc limit ${stopped_max + 1}) d`,
    [org_id, policy],
  );
  const { count = 0, intent_ids = [] } = read ?? {};
  return count <= stopped_max && intent_ids.length <= known_intents_max ? intent_ids : null;
}

/** Reads the records of found entries, newest first. */
export async function readTrailEntries(
  query: Query,
  org_id: string,
  { type, actors }: Pick<TrailSearch, "type" | "actors">,
  seqs: readonly number[],
  before: number | null,
  limit: number,
): Promise<BoundedPage<StoredAudit<OrgAuditRecord>>> {
  const { rows, more } = await readBounded<Omit<StoredAudit<OrgAuditRecord>, "erased"> & MaybeErased>(
    query,
    {
      columns: trail_columns,
      bytes: "octet_length(data::text)",
      from: `from audit where org_id = $1 and entry_seq = any ($2::bigint[]) and ($3::bigint is null or seq < $3)
        and ($4::text is null or type = $4) and ($5::text[] is null or actor = any ($5))`,
      order: "seq desc",
      limit: "$6::integer",
    },
    [org_id, seqs, before, type ?? null, actors ?? null, limit],
  );
  return { rows: rows.map(withoutNull), more };
}
