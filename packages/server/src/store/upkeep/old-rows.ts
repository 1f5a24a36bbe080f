/** SQL that deletes what has done its work: settled deliveries, expired offers. Source: decision 0021. */
import type { Db, Query, QueueStatement } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";
import { firstIdAt } from "../rows/first-id-at.ts";

/** Where the last page ended; both empty: nowhere yet. */
export interface PageEnd {
  readonly org_id: string;
  readonly id: string;
}

/** What a page came to. */
export interface DeletedPage {
  /** False: another node is at it; nothing was looked at. */
  readonly mine: boolean;
  readonly deleted: number;
  /** Null: there were no more. */
  readonly end: PageEnd | null;
}

/** Rows are older than this. */
export interface AgeLimit {
  /** RFC 3339, by the database's clock. */
  readonly before: string;
  readonly before_ms: number;
}

/** Any number that no other program on this database locks. */
const lock_id = 4_207_210_021;
/** An id is made before its row is settled, on a clock that may be off by less than this. */
const clocks_differ_ms = 24 * 3_600 * 1_000;

/** Failed ones are kept: they are listed, with what was sent of them again, and may be sent again. Source: contract §6 rule 4. */
const settled = "t.status in ('delivered', 'cancelled') and t.original_delivery_id is null";

/**
 * Pages along the primary key from organization to organization: ids begin with their time, so in each organization only
 * what is old enough is looked at, and no index is needed that every new row would have to pay for. A page is so many rows
 * looked at: of failed deliveries, which are kept, there may be millions before the next one that goes.
 */
const pageStatement: QueueStatement = {
  name: "delete-old-deliveries",
  text: `with recursive lock as materialized (select pg_try_advisory_xact_lock($1::bigint) as mine),
  orgs as (
    (select t.org_id from deliveries t where t.org_id >= $2::text order by t.org_id limit 1)
    union all
    select n.org_id from orgs o cross join lateral (
      select t.org_id from deliveries t where t.org_id > o.org_id order by t.org_id limit 1) n),
  old as materialized (
    select f.* from orgs o cross join lateral (
      select t.ctid as place, t.org_id, t.delivery_id as id, ${settled} and t.settled_at < $5::timestamptz as done from deliveries t
      where t.org_id = o.org_id and t.delivery_id > case when o.org_id = $2::text then $3::text else '' end
        and t.delivery_id < $4::text
      order by t.delivery_id limit $6::integer) f
    where (select mine from lock) limit $6::integer),
  deleted as (
    delete from deliveries t where t.ctid = any (array(select place from old where done)) and ${settled} and t.settled_at < $5::timestamptz
    returning true as deleted),
  last as (select org_id, id from old order by org_id desc, id desc limit 1)
  select (select mine from lock) as mine, (select count(*)::integer from deleted) as deleted,
    case when (select count(*) from old) = $6::integer then (select org_id from last) end as org_id, (select id from last) as id`,
};

/** The moment `hours` ago, by the database's clock. */
export async function readAgeLimit(query: Query, hours: number): Promise<AgeLimit> {
  const [limit] = await query<AgeLimit>(
    `select at as before, floor(extract(epoch from at) * 1000)::float8 as before_ms
     from (select clock_timestamp() - make_interval(hours => $1::integer) as at) t`,
    [hours],
  );
  return limit as AgeLimit;
}

/** Looks at up to `rows` deliveries after `from` and deletes what was settled before the limit; one node at a time. */
export async function deleteOldDeliveries(
  db: Pick<Db, "queued">,
  { before, before_ms }: AgeLimit,
  from: PageEnd,
  rows: number,
): Promise<DeletedPage> {
  const below = firstIdAt("delivery", before_ms + clocks_differ_ms);
  const [page] = await db.queued<Omit<DeletedPage, "end"> & { org_id: string | null; id: string | null }>(
    pageStatement,
    [...[lock_id, from.org_id, from.id], ...[below, before, rows]],
  );
  const { mine, deleted, org_id, id } = page as Exclude<typeof page, undefined>;
  return { mine, deleted, end: org_id === null || id === null ? null : { org_id, id } };
}

/** Deletes up to `rows` expired invitations. System scope. */
export async function deleteOldInvitations(query: Query, rows: number): Promise<number> {
  const expired = await query<{ org_id: string; invitation_id: string }>(
    "select org_id, invitation_id from invitations where expires_at <= now() limit $1::integer",
    [rows],
  );
  let count = 0;
  for (const [org_id, invitations] of byOrganization(expired)) {
    const deleted = await query(
      `delete from invitations where org_id = $1 and invitation_id in (
         select invitation_id from invitations where org_id = $1 and invitation_id = any($2::text[]) and expires_at <= now()
         for update skip locked)
       returning true as deleted`,
      [org_id, invitations.map(({ invitation_id }) => invitation_id)],
    );
    count += deleted.length;
  }
  return count;
}

/** Deletes up to `rows` intakes that are older than `kept_days` and that no quickstart took up. System scope. */
export async function deleteOldIntakes(query: Query, kept_days: number, rows: number): Promise<number> {
  const deleted = await query(
    `delete from onboarding_intakes where intake_id in (
       select intake_id from onboarding_intakes where org_id is null and created_at < now() - make_interval(days => $1::integer)
       order by created_at limit $2::integer for update skip locked)
     returning true as deleted`,
    [kept_days, rows],
  );
  return deleted.length;
}
