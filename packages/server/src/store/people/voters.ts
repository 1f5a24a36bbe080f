import type { Role } from "@countersign/contract";
import type { Query } from "../../ports.ts";

interface HeldCredential {
  readonly person: string;
  readonly self: string;
  /** The role of an account may be one that cannot decide. */
  readonly role: Role;
}

/** Returns these people's accounts, and their valid keys with a role that may decide. */
export function readCredentials(query: Query, org_id: string, persons: readonly string[]): Promise<HeldCredential[]> {
  return query<HeldCredential>(
    `select user_id as person, user_id as self, role from people where org_id = $1 and user_id = any($2::text[])
     union
     select person, lineage_id, role from api_keys where org_id = $1 and person = any($2::text[])
       and role in ('admin', 'operator', 'reviewer') and revoked_at is null and expires_at > statement_timestamp()`,
    [org_id, persons],
  );
}

/** Returns the people who may decide reviews. `ids`: of accounts or keys. */
export async function readAble(
  query: Query,
  org_id: string,
  roles: readonly Role[],
  ids: readonly string[],
): Promise<string[]> {
  const rows = await query<{ person: string }>(
    `select user_id as person from people where org_id = $1 and role in ('admin', 'operator', 'reviewer')
       and (role = any($2::text[]) or user_id = any($3::text[]))
     union
     select person from api_keys where org_id = $1 and role in ('admin', 'operator', 'reviewer')
       and revoked_at is null and expires_at > statement_timestamp() and (role = any($2::text[]) or lineage_id in (
         select lineage_id from api_keys where org_id = $1 and key_id = any($3::text[])))
     limit 1000`,
    [org_id, roles, ids],
  );
  return rows.map(({ person }) => person);
}

export async function readAddresses(
  query: Query,
  org_id: string,
  user_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await query<{ user_id: string; email: string }>(
    "select user_id, email from people where org_id = $1 and user_id = any($2::text[])",
    [org_id, user_ids],
  );
  return new Map(rows.map(({ user_id, email }) => [user_id, email]));
}

export async function readKeyNames(query: Query, org_id: string, lineage_id: string): Promise<string[]> {
  const rows = await query<{ name: string }>(
    "select distinct name from api_keys where org_id = $1 and lineage_id = $2 and name is not null limit 100",
    [org_id, lineage_id],
  );
  return rows.map(({ name }) => name);
}
