/**
 * SQL for the mail queue. Contents are sealed, because they carry links that sign people in. The database's time decides when a
 * mail is due. A node with a fast clock could otherwise send a mail that another node is sending.
 */
import type { Escalation, Role } from "@countersign/contract";
import type { CountedDemand } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

/** A mail to write. */
export interface NewMail {
  readonly mail_id: string;
  readonly kind: string;
  readonly sealed: string;
}

/** A mail that is due. */
export interface DueMail {
  readonly mail_id: string;
  readonly kind: string;
  readonly sealed: string;
  /** Earlier attempts. */
  readonly attempts: number;
  /** The time at which the mail was written. */
  readonly created_at: string;
  /** Seconds since `created_at`. */
  readonly age_seconds: number;
}

/** Writes a mail in the transaction that causes it. System scope. */
export async function insertMail(query: Query, { mail_id, kind, sealed }: NewMail): Promise<void> {
  await query("insert into mails (mail_id, kind, sealed, created_at, due_at) values ($1, $2, $3, now(), now())", [
    mail_id,
    kind,
    sealed,
  ]);
}

/**
 * Takes up to `limit` mails that are due and leases them: if this node dies, another one sends them after the lease. Kinds named in
 * `first` go before all others, in that order, so that a backlog of another kind does not delay links.
 */
export function claimMails(
  query: Query,
  lease_seconds: number,
  limit: number,
  first: readonly string[],
): Promise<DueMail[]> {
  return query<DueMail>(
    `update mails set due_at = now() + make_interval(secs => $1::integer), attempts = attempts + 1
     where mail_id in (
       select mail_id from mails where due_at <= now()
       order by array_position($3::text[], kind), due_at limit $2::integer for update skip locked)
     returning mail_id, kind, sealed, attempts - 1 as attempts,
       created_at,
       extract(epoch from now() - created_at)::integer as age_seconds`,
    [lease_seconds, limit, first],
  );
}

/** Deletes a mail that was sent or given up. */
export async function deleteMail(query: Query, mail_id: string): Promise<void> {
  await query("delete from mails where mail_id = $1", [mail_id]);
}

/** Schedules the next attempt of a mail. */
export async function postponeMail(query: Query, mail_id: string, wait_seconds: number): Promise<void> {
  await query("update mails set due_at = now() + make_interval(secs => $2::integer) where mail_id = $1", [
    mail_id,
    wait_seconds,
  ]);
}

/** Postpones a mail without counting an attempt. */
export async function putOffMail(query: Query, mail_id: string, wait_seconds: number): Promise<void> {
  await query(
    "update mails set due_at = now() + make_interval(secs => $2::integer), attempts = attempts - 1 where mail_id = $1",
    [mail_id, wait_seconds],
  );
}

/** An escalation that waits for reviewers. */
export interface WaitingEscalation {
  readonly org_id: string;
  readonly escalation_id: string;
  /** The submitter's chain of keys. Null: open mode. */
  readonly lineage_id: string | null;
  readonly record: Escalation;
  readonly created_at: string;
  readonly expires_at: string;
  readonly demands: readonly CountedDemand[];
}

/** Takes up to `limit` escalations without a mail to reviewers and marks them, for one node only. System scope. */
export async function takeUntold(query: Query, limit: number): Promise<WaitingEscalation[]> {
  const is_untold = "not notified and status = 'pending' and mode = 'live'";
  const untold = await query<{ org_id: string; escalation_id: string }>(
    `select org_id, escalation_id from escalations where ${is_untold} order by org_id, escalation_id limit $1::integer`,
    [limit],
  );
  const taken: WaitingEscalation[] = [];
  for (const [org_id, escalations] of byOrganization(untold)) {
    const rows = await query<WaitingEscalation>(
      `update escalations set notified = true where org_id = $1 and escalation_id in (
         select escalation_id from escalations where org_id = $1 and escalation_id = any($2::text[]) and ${is_untold}
         for update skip locked)
       returning org_id, escalation_id, lineage_id, record, created_at, expires_at, demands`,
      [org_id, escalations.map(({ escalation_id }) => escalation_id)],
    );
    taken.push(...rows);
  }
  return taken;
}

/**
 * Writes which demands of a review were mailed, in the transaction of `takeUntold`, which locks its row. A concurrent vote
 * may overwrite the demands. Then some reviewers get a second mail.
 */
export async function writeTold(query: Query, { org_id, escalation_id, demands }: WaitingEscalation): Promise<void> {
  await query("update escalations set demands = $3::json where org_id = $1 and escalation_id = $2", [
    org_id,
    escalation_id,
    JSON.stringify(demands),
  ]);
}

/** A waiting escalation with a further mail that is due. */
export interface NoticedEscalation extends WaitingEscalation {
  /** The time since which the mail is due. */
  readonly notice_at: string;
}

/**
 * Takes up to `limit` escalations with a further mail that is due `now`, for one node only: their rows are locked until the transaction
 * ends, which must write when the next one is due. System scope.
 */
export async function takeDueNotices(query: Query, now: string, limit: number): Promise<NoticedEscalation[]> {
  const is_due = "notice_at <= $1::timestamptz and status = 'pending'";
  const due = await query<{ org_id: string; escalation_id: string }>(
    `select org_id, escalation_id from escalations where ${is_due} order by notice_at limit $2::integer`,
    [now, limit],
  );
  const taken: NoticedEscalation[] = [];
  for (const [org_id, escalations] of byOrganization(due)) {
    const rows = await query<NoticedEscalation>(
      `select org_id, escalation_id, lineage_id, record, created_at, expires_at, demands, notice_at from escalations
       where org_id = $2 and escalation_id = any($3::text[]) and ${is_due} order by escalation_id for update skip locked`,
      [now, org_id, escalations.map(({ escalation_id }) => escalation_id)],
    );
    taken.push(...rows);
  }
  return taken;
}

/** Writes when the next further mails of these escalations are due; null: none is. */
export async function writeNotices(
  query: Query,
  org_id: string,
  notices: readonly { readonly escalation_id: string; readonly notice_at: string | null }[],
): Promise<void> {
  await query(
    `update escalations e set notice_at = n.notice_at from unnest($2::text[], $3::timestamptz[]) as n (escalation_id, notice_at)
     where e.org_id = $1 and e.escalation_id = n.escalation_id`,
    [org_id, notices.map(({ escalation_id }) => escalation_id), notices.map(({ notice_at }) => notice_at)],
  );
}

/** Marks an escalation for a mail to reviewers, because they changed or their turn has come. */
export async function markUntold(query: Query, org_id: string, escalation_id: string): Promise<void> {
  await query("update escalations set notified = false where org_id = $1 and escalation_id = $2", [
    org_id,
    escalation_id,
  ]);
}

/** Returns the people who get mails about an organization's escalations. */
export function readNotified(
  query: Query,
  org_id: string,
): Promise<{ readonly user_id: string; readonly email: string; readonly role: Role }[]> {
  return query("select user_id, email, role from people where org_id = $1 and notify limit 1000", [org_id]);
}
