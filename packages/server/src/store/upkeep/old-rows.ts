/** SQL that deletes rows that are no longer needed (docs/decisions/0021-what-is-deleted-and-when.md). */
import type { Db, Query, QueueStatement } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";
import { firstIdAt } from "../rows/first-id-at.ts";

export interface DeletedPage {
  readonly deleted: number;
  /** The last delivery that the page read. Null: no more. */
  readonly end: string | null;
}

export interface AgeLimit {
  /** RFC 3339, by the database's clock. */
  readonly before: string;
  readonly before_ms: number;
}

/** Maximum error of an id's clock. */
const clocks_differ_ms = 24 * 3_600 * 1_000;

/** Failed deliveries and retries are kept: the API lists them, and users may retry them. */
const settled = "t.status in ('delivered', 'cancelled') and t.original_delivery_id is null";

/**
 * Reads one page along the primary key. Ids begin with their time, so no further index is needed. The page counts rows
 * read, because millions of kept deliveries may come first. Skips locked rows.
 */
const pageStatement: QueueStatement = {
  name: "delete-old-deliveries",
  text: `with
  old as materialized (
    select t.delivery_id, ${settled} and t.settled_at < $4::timestamptz as done from deliveries t
    where t.org_id = $1 and t.delivery_id > $2::text and t.delivery_id < $3::text order by t.delivery_id limit $5::integer),
  going as materialized (
    select l.delivery_id from old o cross join lateral (
      select t.delivery_id from deliveries t where t.org_id = $1 and t.delivery_id = o.delivery_id limit 1 for update skip locked) l
    where o.done),
  deleted as (
    delete from deliveries t where t.org_id = $1 and t.delivery_id > $2::text and t.delivery_id <= (select max(delivery_id) from going)
      and t.delivery_id = any (array(select delivery_id from going))
    returning true as deleted)
  select (select count(*)::integer from deleted) as deleted,
    case when (select count(*) from old) = $5::integer then (select max(delivery_id) from old) end as end`,
};

/** By the database's clock. */
export async function readAgeLimit(query: Query, hours: number): Promise<AgeLimit> {
  const [limit] = await query<AgeLimit>(
    `select at as before, floor(extract(epoch from at) * 1000)::float8 as before_ms
     from (select clock_timestamp() - make_interval(hours => $1::integer) as at) t`,
    [hours],
  );
  return limit as AgeLimit;
}

/** Returns an upper bound for ids of old deliveries. */
const idsBelow = ({ before_ms }: AgeLimit) => firstIdAt("delivery", before_ms + clocks_differ_ms);

/** Returns organizations with old deliveries, by id, starting with `first`. System scope. */
export async function organizationsWithOldDeliveries(
  query: Query,
  age: AgeLimit,
  first: string,
  limit: number,
): Promise<readonly string[]> {
  const found = await query<{ org_id: string }>(
    `select o.org_id from organizations o where o.org_id >= $1 and exists (
       select 1 from deliveries d where d.org_id = o.org_id and d.delivery_id < $2)
     order by o.org_id limit $3::integer`,
    [first, idsBelow(age), limit],
  );
  return found.map(({ org_id }) => org_id);
}

/** Reads up to `rows` deliveries after `after`, and deletes the old settled ones. */
export async function deleteOldDeliveries(
  db: Pick<Db, "queued">,
  org_id: string,
  age: AgeLimit,
  after: string,
  rows: number,
): Promise<DeletedPage> {
  const params = [org_id, after, idsBelow(age), age.before, rows];
  const [page] = await db.queued<DeletedPage>(pageStatement, params);
  if (page === undefined) throw new Error("the page returned no row");
  return page;
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

/** Deletes waits that ended more than an hour ago. System scope. */
export async function deleteOldWaits(query: Query, rows: number): Promise<number> {
  const over = await query<{ org_id: string; escalation_id: string }>(
    "select org_id, escalation_id from review_waits where until <= now() - interval '1 hour' limit $1::integer",
    [rows],
  );
  let count = 0;
  for (const [org_id, waits] of byOrganization(over)) {
    const deleted = await query(
      `delete from review_waits where org_id = $1 and escalation_id = any($2::text[]) and until <= now() - interval '1 hour'
       returning true as deleted`,
      [org_id, waits.map(({ escalation_id }) => escalation_id)],
    );
    count += deleted.length;
  }
  return count;
}

/** Reads up to `rows` old times, and deletes all old times of the same reviews. System scope. */
export async function deleteOldReviewerTimes(query: Query, kept_days: number, rows: number): Promise<number> {
  const is_old = "greatest(shown_at, ruled_at) <= now() - make_interval(days => $1::integer)";
  const old = await query<{ org_id: string; escalation_id: string }>(
    `select org_id, escalation_id from reviewer_times where ${is_old} limit $2::integer`,
    [kept_days, rows],
  );
  let count = 0;
  for (const [org_id, times] of byOrganization(old)) {
    const deleted = await query(
      `delete from reviewer_times where org_id = $2 and escalation_id = any($3::text[]) and ${is_old} returning true as deleted`,
      [kept_days, org_id, times.map(({ escalation_id }) => escalation_id)],
    );
    count += deleted.length;
  }
  return count;
}

/** Skips intakes that a quickstart used. System scope. */
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
