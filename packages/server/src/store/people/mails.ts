/**
 * SQL for the mail queue. Contents are sealed, because they carry sign-in links. Mails are due by the database's time,
 * because a node with a fast clock would send mails twice.
 */
import type { Escalation, Role } from "@countersign/contract";
import type { CountedDemand } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";
import { nextDigestAt } from "./people.ts";

export interface NewMail {
  readonly mail_id: string;
  readonly kind: string;
  readonly sealed: string;
}

export interface DueMail {
  readonly mail_id: string;
  readonly kind: string;
  readonly sealed: string;
  readonly attempts: number;
  readonly created_at: string;
  /** Seconds since `created_at`. */
  readonly age_seconds: number;
}

/** Call in the transaction that causes the mail. System scope. */
export async function insertMail(query: Query, { mail_id, kind, sealed }: NewMail): Promise<void> {
  await query("insert into mails (mail_id, kind, sealed, created_at, due_at) values ($1, $2, $3, now(), now())", [
    mail_id,
    kind,
    sealed,
  ]);
}

/**
 * Leases due mails; after the lease, another node may send them. Kinds in `first` go first, so that no backlog delays
 * links.
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

export async function deleteMail(query: Query, mail_id: string): Promise<void> {
  await query("delete from mails where mail_id = $1", [mail_id]);
}

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

export interface WaitingEscalation {
  readonly org_id: string;
  readonly escalation_id: string;
  /** The submitter's rotation chain. Null: open mode. */
  readonly lineage_id: string | null;
  readonly record: Escalation;
  readonly created_at: string;
  readonly expires_at: string;
  readonly demands: readonly CountedDemand[];
}

/** Marks and returns escalations without a mail to reviewers. System scope. */
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
 * Writes which demands were mailed, in the transaction of `takeUntold`. If a concurrent vote overwrites them, some
 * reviewers get a second mail.
 */
export async function writeTold(query: Query, { org_id, escalation_id, demands }: WaitingEscalation): Promise<void> {
  await query("update escalations set demands = $3::json where org_id = $1 and escalation_id = $2", [
    org_id,
    escalation_id,
    JSON.stringify(demands),
  ]);
}

export interface NoticedEscalation extends WaitingEscalation {
  readonly notice_at: string;
}

/**
 * Returns escalations with a due reminder and locks them. The same transaction must call `writeNotices`. System scope.
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

/** Null: no further reminder. */
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

/** Requests a mail to reviewers, because they changed or their tier opened. */
export async function markUntold(query: Query, org_id: string, escalation_id: string): Promise<void> {
  await query("update escalations set notified = false where org_id = $1 and escalation_id = $2", [
    org_id,
    escalation_id,
  ]);
}

export interface NotifiedPerson {
  readonly user_id: string;
  readonly email: string;
  readonly role: Role;
  readonly notify: boolean;
  readonly mail_rhythm: "at_once" | "daily";
  /** Browsers that get push notices. */
  readonly devices: readonly string[];
}

/** Returns people who get notices by mail or in a browser. */
export function readNotified(query: Query, org_id: string): Promise<NotifiedPerson[]> {
  return query<NotifiedPerson>(
    `select p.user_id, p.email, p.role, p.notify, p.mail_rhythm, d.devices from people p
     cross join lateral (select array(select device_id from push_devices
       where org_id = $1 and user_id = p.user_id order by device_id) as devices) d
     where p.org_id = $1 and (p.notify or cardinality(d.devices) > 0) limit 1000`,
    [org_id],
  );
}

/** Takes the people whose daily mail is due, and sets the time of their next one. System scope. */
export async function takeDueDigests(query: Query, limit: number): Promise<ReadonlyMap<string, readonly string[]>> {
  const due = await query<{ org_id: string; user_id: string }>(
    "select org_id, user_id from people where digest_at <= statement_timestamp() order by digest_at limit $1::integer",
    [limit],
  );
  const taken = new Map<string, string[]>();
  for (const [org_id, people] of byOrganization(due)) {
    const rows = await query<{ user_id: string }>(
      `update people set digest_at = ${nextDigestAt("digest_hour")}
       where org_id = $1 and digest_at <= statement_timestamp() and user_id in (
         select user_id from people where org_id = $1 and user_id = any($2::text[]) for update skip locked)
       returning user_id`,
      [org_id, people.map(({ user_id }) => user_id)],
    );
    if (rows.length > 0)
      taken.set(
        org_id,
        rows.map(({ user_id }) => user_id),
      );
  }
  return taken;
}

/** Returns open reviews whose reviewers got a notice, those with the earliest end first. */
export function readOpenReviews(query: Query, org_id: string, limit: number): Promise<WaitingEscalation[]> {
  return query<WaitingEscalation>(
    `select org_id, escalation_id, lineage_id, record, created_at, expires_at, demands from escalations
     where org_id = $1 and status = 'pending' and mode = 'live' and notified and expires_at > statement_timestamp()
     order by expires_at limit $2::integer`,
    [org_id, limit],
  );
}
