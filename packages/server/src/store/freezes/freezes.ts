/** SQL for freezes. Every change holds the lock of the organization's head and raises its policy epoch. */
import { type Freeze, limits } from "@countersign/contract";
import { type Freezes, freezesOf, type StandingFreeze } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { parentsOf, registered_parents } from "../agents/agents.ts";

export type FreezeKey = Pick<StandingFreeze, "kind" | "subject">;

/**
 * SQL for all freezes of the organization `$1` as JSON. A key's freeze has its rotation chain and those of all keys
 * that it created, directly or not. The set is complete, because a frozen key creates no keys.
 */
export const standing_freezes: string = `(select json_agg(json_build_object('kind', f.kind, 'subject', f.subject, 'name', f.name,
      'mode', f.mode, 'reason', f.reason, 'frozen_by', f.frozen_by,
      'frozen_at', to_char(f.frozen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'lineages', case when f.kind <> 'key' then '[]'::json else (${chains("select f.subject")}) end))
    from freezes f where f.org_id = $1)`;

/** SQL: the rotation chains that `first` selects, and those of all keys that they created. */
function chains(first: string): string {
  return `with recursive made (lineage_id) as (
      ${first}
      union
      select k.lineage_id from made m
      join api_keys maker on maker.org_id = $1 and maker.lineage_id = m.lineage_id
      join api_keys k on k.org_id = $1 and k.created_by = maker.key_id)
    select json_agg(lineage_id) from made`;
}

/** Exact only under the head's lock. */
export async function readFreezes(query: Query, org_id: string): Promise<Freezes> {
  const [row] = await query<{ freezes: StandingFreeze[] | null; parents: [string, string][] | null }>(
    `select ${standing_freezes} as freezes, ${registered_parents} as parents`,
    [org_id],
  );
  return freezesOf(row?.freezes ?? [], parentsOf(row?.parents ?? null));
}

export async function readLineagesOf(query: Query, org_id: string, lineage_id: string): Promise<string[]> {
  const [row] = await query<{ lineages: string[] }>(`select (${chains("select $2::text")}) as lineages`, [
    org_id,
    lineage_id,
  ]);
  return row?.lineages ?? [];
}

/** Returns true for a key of a frozen rotation chain, and for keys that a frozen key created. */
export async function isFrozenKey(query: Query, org_id: string, key_id: string): Promise<boolean> {
  const [row] = await query<{ frozen: boolean | null }>(
    `select exists (select from api_keys k
       where k.org_id = $1 and k.key_id = $2 and k.lineage_id in (select json_array_elements_text(
         (${chains("select f.subject from freezes f where f.org_id = $1 and f.kind = 'key'")})))) as frozen
     from organizations o where o.org_id = $1 and exists (select from freezes f where f.org_id = $1 and f.kind = 'key')`,
    [org_id, key_id],
  );
  return row?.frozen === true;
}

const columns = `kind, name, mode, reason, frozen_by, frozen_at, closed_up_to is not null as closing_reviews,
  case when unfreeze_requested_at + interval '${limits.unfreeze_request_hours} hours' > clock_timestamp() then unfreeze_requested_by end
    as unfreeze_requested_by,
  case when unfreeze_requested_at + interval '${limits.unfreeze_request_hours} hours' > clock_timestamp() then unfreeze_requested_at end
    as unfreeze_requested_at`;

export function listFreezes(query: Query, org_id: string): Promise<Freeze[]> {
  return query<Freeze>(`select ${columns} from freezes where org_id = $1 order by frozen_at desc, kind, subject`, [
    org_id,
  ]);
}

export async function countFreezes(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ count: number }>("select count(*)::integer as count from freezes where org_id = $1", [
    org_id,
  ]);
  return row?.count ?? 0;
}

export async function readFreeze(
  query: Query,
  org_id: string,
  { kind, subject }: FreezeKey,
): Promise<Freeze | undefined> {
  const [row] = await query<Freeze>(`select ${columns} from freezes where org_id = $1 and kind = $2 and subject = $3`, [
    ...[org_id, kind, subject],
  ]);
  return row;
}

export interface NewFreeze extends FreezeKey, Pick<Freeze, "name" | "mode" | "reason" | "frozen_by"> {
  /** By the database's clock, RFC 3339. */
  readonly at: string;
  /** Seq of its audit record. */
  readonly seq: number;
}

/**
 * Writes a freeze, or replaces mode and reason of an existing one. Ends a request to unfreeze. An unchanged mode keeps
 * its time. Under `block`, open reviews must be closed.
 */
export async function writeFreeze(query: Query, org_id: string, freeze: NewFreeze): Promise<Freeze> {
  const [row] = await query<Freeze>(
    `insert into freezes (org_id, kind, subject, name, mode, reason, frozen_by, frozen_at, since_seq, closed_up_to)
     values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz, $9::bigint, case $5 when 'block' then '' end)
     on conflict (org_id, kind, subject) do update set name = excluded.name, mode = excluded.mode, reason = excluded.reason,
       frozen_by = excluded.frozen_by, closed_up_to = excluded.closed_up_to, unfreeze_requested_by = null, unfreeze_requested_at = null,
       frozen_at = case when freezes.mode = excluded.mode then freezes.frozen_at else excluded.frozen_at end,
       since_seq = case when freezes.mode = excluded.mode then freezes.since_seq else excluded.since_seq end
     returning ${columns}`,
    [
      org_id,
      freeze.kind,
      freeze.subject,
      freeze.name,
      freeze.mode,
      freeze.reason,
      freeze.frozen_by,
      freeze.at,
      freeze.seq,
    ],
  );
  if (row === undefined) throw new Error("the freeze was not written");
  return row;
}

export async function requestUnfreeze(
  query: Query,
  org_id: string,
  { kind, subject }: FreezeKey,
  person: string,
  at: string,
): Promise<Freeze> {
  const [row] = await query<Freeze>(
    `update freezes set unfreeze_requested_by = $4, unfreeze_requested_at = $5::timestamptz
     where org_id = $1 and kind = $2 and subject = $3 returning ${columns}`,
    [org_id, kind, subject, person, at],
  );
  if (row === undefined) throw new Error("the freeze is gone");
  return row;
}

export async function deleteFreeze(query: Query, org_id: string, { kind, subject }: FreezeKey): Promise<void> {
  await query("delete from freezes where org_id = $1 and kind = $2 and subject = $3", [org_id, kind, subject]);
}

/** Returns true if the decision was committed before one of these freezes got its mode. */
export async function isOlderThan(
  query: Query,
  org_id: string,
  intent_id: string,
  freezes: readonly FreezeKey[],
): Promise<boolean> {
  const rows = await query(
    `select from freezes f join ledger l on l.org_id = f.org_id and l.intent_id = $2 and l.type = 'decided'
     where f.org_id = $1 and (f.kind, f.subject) in (select * from unnest($3::text[], $4::text[])) and l.seq <= f.since_seq limit 1`,
    [org_id, intent_id, freezes.map(({ kind }) => kind), freezes.map(({ subject }) => subject)],
  );
  return rows.length > 0;
}

/**
 * Returns the reviews that nobody can approve: their agent, key or organization is frozen with `block`, or was frozen
 * after they were opened.
 */
export async function readStoppedReviews(
  query: Query,
  org_id: string,
  escalation_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const reviews = await query<{
    escalation_id: string;
    agent_id: string;
    lineage_id: string | null;
    older_than: string[];
  }>(
    `select e.escalation_id, e.agent_id, e.lineage_id,
       array(select f.kind || ' ' || f.subject from freezes f where f.org_id = $1 and f.since_seq >= l.seq) as older_than
     from escalations e join ledger l on l.org_id = $1 and l.intent_id = e.intent_id and l.type = 'decided'
     where e.org_id = $1 and e.escalation_id = any ($2::text[]) and e.status = 'pending' and exists (
       select from freezes f where f.org_id = $1)`,
    [org_id, escalation_ids],
  );
  if (reviews.length === 0) return new Set();
  const freezes = await readFreezes(query, org_id);
  const stopped = reviews.filter((each) =>
    freezes
      .of(each)
      .some(({ kind, subject, mode }) => mode === "block" || each.older_than.includes(`${kind} ${subject}`)),
  );
  return new Set(stopped.map(({ escalation_id }) => escalation_id));
}

/** A freeze with open reviews to close. `closed_up_to`: done up to this id. */
export interface ClosingFreeze extends FreezeKey, Pick<Freeze, "name" | "frozen_by"> {
  readonly closed_up_to: string;
}

/** Returns organizations with reviews to close, except `passed_over`. System scope. */
export async function readClosingOrganizations(
  query: Query,
  limit: number,
  passed_over: readonly string[],
): Promise<string[]> {
  const rows = await query<{ org_id: string }>(
    "select distinct org_id from freezes where closed_up_to is not null and org_id <> all($2::text[]) limit $1::integer",
    [limit, passed_over],
  );
  return rows.map(({ org_id }) => org_id);
}

export async function readClosingFreeze(query: Query, org_id: string): Promise<ClosingFreeze | undefined> {
  const [row] = await query<ClosingFreeze>(
    `select kind, subject, name, frozen_by, closed_up_to from freezes where org_id = $1 and closed_up_to is not null
     order by frozen_at, kind, subject limit 1`,
    [org_id],
  );
  return row;
}

/** Notes up to which review all are closed. Null: all are. */
export async function noteClosed(
  query: Query,
  org_id: string,
  { kind, subject }: FreezeKey,
  closed_up_to: string | null,
): Promise<void> {
  await query("update freezes set closed_up_to = $4 where org_id = $1 and kind = $2 and subject = $3", [
    org_id,
    kind,
    subject,
    closed_up_to,
  ]);
}

export interface Counted {
  readonly agent_id: string;
  readonly lineage_id: string | null;
  readonly count: number;
}

export function countDecisionsSince(query: Query, org_id: string, first_id: string, max: number): Promise<Counted[]> {
  return query<Counted>(
    `select agent_id, lineage_id, count(*) as count from (
       select agent_id, lineage_id from ledger where org_id = $1 and type = 'decided' and intent_id >= $2
       order by intent_id desc limit $3::integer) newest
     group by agent_id, lineage_id`,
    [org_id, first_id, max],
  );
}

export function countOpenReviews(query: Query, org_id: string): Promise<Counted[]> {
  return query<Counted>(
    `select agent_id, lineage_id, count(*) as count from escalations where org_id = $1 and status = 'pending'
     group by agent_id, lineage_id`,
    [org_id],
  );
}

export function countLiveOverrides(query: Query, org_id: string): Promise<Counted[]> {
  return query<Counted>(
    `select o.agent_id, l.lineage_id, count(*) as count from overrides o
     join ledger l on l.org_id = o.org_id and l.intent_id = o.intent_id and l.type = 'decided'
     where o.org_id = $1 and o.status = 'active' and o.expires_at > clock_timestamp() group by o.agent_id, l.lineage_id`,
    [org_id],
  );
}
