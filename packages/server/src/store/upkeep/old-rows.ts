/**
 * SQL that deletes rows that are no longer needed: settled deliveries, expired invitations and intakes. See
 * docs/decisions/0021-what-is-deleted-and-when.md.
 */
import type { Db, Query, QueueStatement } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";
import { firstIdAt } from "../rows/first-id-at.ts";

/** The result of one page. */
export interface DeletedPage {
  readonly deleted: number;
  /** The last delivery that the page read. Null: there were no more. */
  readonly end: string | null;
}

/** An age limit. Rows before it are old. */
export interface AgeLimit {
  /** RFC 3339, by the database's clock. */
  readonly before: string;
  readonly before_ms: number;
}

/** An id is created before its row is settled, by a clock that may be wrong by at most this much. */
const clocks_differ_ms = 24 * 3_600 * 1_000;

/** Failed deliveries are kept: the API lists them with their retries, and users may retry them. */
const settled = "t.status in ('delivered', 'cancelled') and t.original_delivery_id is null";

/**
 * Reads one page along the primary key of one organization. Ids begin with their time, so the page reads only old rows.
 * No further index is needed, which every new row would have to update. The page size counts the rows read, because
 * millions of failed deliveries, which are kept, may precede the next deleted one. Skips rows that another node is
 * deleting.
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

/** Returns the time `hours` ago, by the database's clock. */
export async function readAgeLimit(query: Query, hours: number): Promise<AgeLimit> {
  const [limit] = await query<AgeLimit>(
    `select at as before, floor(extract(epoch from at) * 1000)::float8 as before_ms
     from (select clock_timestamp() - make_interval(hours => $1::integer) as at) t`,
    [hours],
  );
  return limit as AgeLimit;
}

/** Ids of deliveries that may be old enough are below this one. */
const idsBelow = ({ before_ms }: AgeLimit) => firstIdAt("delivery", before_ms + clocks_differ_ms);

/**
 * Returns organizations that have deliveries of that age, kept or not, in the order of their ids: at most `limit`, from `first` on.
 * System scope.
 */
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

/**
 * Reads up to `rows` deliveries of an organization after the delivery `after`, and deletes those that were settled
 * before the limit.
 */
export async function deleteOldDeliveries(
  db: Pick<Db, "queued">,
  org_id: string,
  age: AgeLimit,
  after: string,
  rows: number,
): Promise<DeletedPage> {
  const params = [org_id, after, idsBelow(age), age.before, rows];
  const [page] = await db.queued<DeletedPage>(pageStatement, params);
  if (page === undefined) throw new Error("a page came without a row");
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

/** Deletes up to `rows` records of waits that ended more than an hour ago. System scope. */
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

/**
 * Deletes the times of people who saw or ruled on reviews, last more than `kept_days` ago: of up to `rows` such times, and all that are as
 * old of the same reviews. System scope.
 */
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

/** Deletes up to `rows` intakes that are older than `kept_days` and that no quickstart used. System scope. */
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
