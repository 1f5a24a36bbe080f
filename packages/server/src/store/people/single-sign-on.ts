import type { SingleSignOnInput } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export interface StoredSingleSignOn {
  readonly org_id: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly secret_sealed: string;
  /** Lower case. */
  readonly email_domains: readonly string[];
  readonly default_role: SingleSignOnInput["default_role"];
  readonly updated_at: string;
}

export async function readSingleSignOn(query: Query, org_id: string): Promise<StoredSingleSignOn | undefined> {
  const [row] = await query<StoredSingleSignOn>(
    `select org_id, issuer, client_id, secret_sealed, email_domains, default_role, updated_at from single_sign_on
     where org_id = $1`,
    [org_id],
  );
  return row;
}

/** Replaces the earlier provider. System scope. */
export async function writeSingleSignOn(query: Query, row: StoredSingleSignOn): Promise<void> {
  const { org_id, issuer, client_id, secret_sealed, email_domains, default_role, updated_at } = row;
  const domains = JSON.stringify(email_domains);
  await query(
    `insert into single_sign_on (org_id, issuer, client_id, secret_sealed, email_domains, default_role, updated_at)
     values ($1, $2, $3, $4, $5::json, $6, $7::timestamptz)
     on conflict (org_id) do update set issuer = excluded.issuer, client_id = excluded.client_id,
       secret_sealed = excluded.secret_sealed, email_domains = excluded.email_domains,
       default_role = excluded.default_role, updated_at = excluded.updated_at`,
    [org_id, issuer, client_id, secret_sealed, domains, default_role, updated_at],
  );
  await query("delete from sso_domains where org_id = $1", [org_id]);
  await query("insert into sso_domains (domain, org_id) select d, $1 from json_array_elements_text($2::json) as d", [
    org_id,
    domains,
  ]);
}

/** Returns false if there was none. System scope. */
export async function deleteSingleSignOn(query: Query, org_id: string): Promise<boolean> {
  await query("delete from sso_domains where org_id = $1", [org_id]);
  const rows = await query("delete from single_sign_on where org_id = $1 returning true as deleted", [org_id]);
  return rows.length > 0;
}

/** Returns at most two organizations with single sign-on for the domain. System scope. */
export async function organizationsOfDomain(query: Query, domain: string): Promise<string[]> {
  const rows = await query<{ org_id: string }>("select org_id from sso_domains where domain = $1 limit 2", [domain]);
  return rows.map(({ org_id }) => org_id);
}

export interface DomainClaim {
  readonly org_id: string;
  readonly domain: string;
}

/** Returns claims that were not checked for a day. System scope. */
export function takeClaimsToCheck(query: Query, limit: number): Promise<DomainClaim[]> {
  return query<DomainClaim>(
    `update sso_domains set checked_at = statement_timestamp() where (domain, org_id) in (
       select domain, org_id from sso_domains where checked_at <= statement_timestamp() - interval '1 day'
       order by checked_at limit $1::integer for update skip locked)
     returning org_id, domain`,
    [limit],
  );
}

/** System scope. */
export async function noteProven(query: Query, { org_id, domain }: DomainClaim): Promise<void> {
  await query("update sso_domains set proven_at = statement_timestamp() where org_id = $1 and domain = $2", [
    org_id,
    domain,
  ]);
}

/**
 * Ends an unproven claim. Returns false if it is gone, or was proven in the `kept_seconds` before its newest check.
 * System scope.
 */
export async function endClaim(query: Query, { org_id, domain }: DomainClaim, kept_seconds: number): Promise<boolean> {
  const rows = await query(
    `delete from sso_domains where org_id = $1 and domain = $2
       and proven_at < checked_at - make_interval(secs => $3::integer) returning true as ended`,
    [org_id, domain, kept_seconds],
  );
  if (rows.length === 0) return false;
  await query(
    `update single_sign_on set email_domains =
       (select coalesce(json_agg(d), '[]'::json) from json_array_elements_text(email_domains) as d where d <> $2)
     where org_id = $1`,
    [org_id, domain],
  );
  return true;
}

/** Searches people and open invitations. `domains` are lower case. System scope. */
export function otherOrganizationsIn(query: Query, org_id: string, domains: readonly string[]): Promise<DomainClaim[]> {
  return query<DomainClaim>(
    `select org_id, substring(email from '[^@]*$') as domain from person_index
     where substring(email from '[^@]*$') = any($2::text[]) and org_id <> $1
     union
     select org_id, lower(substring(email from '[^@]*$') collate "C") from invitations
     where lower(substring(email from '[^@]*$') collate "C") = any($2::text[]) and org_id <> $1
       and expires_at > clock_timestamp()`,
    [org_id, domains],
  );
}

/** Returns true if the trail has a conflict over this domain from the last day. */
export async function toldOfConflict(query: Query, { org_id, domain }: DomainClaim): Promise<boolean> {
  const rows = await query(
    `select from ledger where org_id = $1 and type = 'sso_conflict' and data ->> 'domain' = $2
       and at > clock_timestamp() - interval '1 day' limit 1`,
    [org_id, domain],
  );
  return rows.length > 0;
}

/** Returns the person for whom the provider vouches, even if removed. */
export async function readIdentity(
  query: Query,
  org_id: string,
  issuer: string,
  subject: string,
): Promise<string | undefined> {
  const [row] = await query<{ user_id: string }>(
    "select user_id from sso_identities where org_id = $1 and issuer = $2 and subject = $3",
    [org_id, issuer, subject],
  );
  return row?.user_id;
}

export async function hasIdentity(query: Query, org_id: string, issuer: string, user_id: string): Promise<boolean> {
  const rows = await query("select from sso_identities where org_id = $1 and issuer = $2 and user_id = $3", [
    org_id,
    issuer,
    user_id,
  ]);
  return rows.length > 0;
}

export async function writeIdentity(
  query: Query,
  identity: { readonly org_id: string; readonly issuer: string; readonly subject: string; readonly user_id: string },
  at: string,
): Promise<void> {
  const { org_id, issuer, subject, user_id } = identity;
  await query(
    `insert into sso_identities (org_id, issuer, subject, user_id, created_at) values ($1, $2, $3, $4, $5::timestamptz)
     on conflict (org_id, issuer, subject) do update set user_id = excluded.user_id, created_at = excluded.created_at`,
    [org_id, issuer, subject, user_id, at],
  );
}
