import type { Passkey } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import type { KnownPasskey } from "../../sign-in-ports.ts";

export interface StoredPasskey extends KnownPasskey {
  readonly org_id: string;
  readonly user_id: string;
}

export interface NewPasskey extends StoredPasskey {
  readonly name: string;
  readonly created_at: string;
}

/** Searches all organizations. System scope. */
export async function findPasskey(query: Query, passkey_id: string): Promise<StoredPasskey | undefined> {
  const [found] = await query<{ org_id: string }>("select org_id from passkey_index where passkey_id = $1", [
    passkey_id,
  ]);
  const [passkey] = await query<StoredPasskey>(
    `select org_id, passkey_id, user_id, public_key, counter, transports from passkeys
     where org_id = $1 and passkey_id = $2`,
    [found?.org_id ?? "", passkey_id],
  );
  return passkey;
}

export async function readPasskey(
  query: Query,
  org_id: string,
  user_id: string,
  passkey_id: string,
): Promise<StoredPasskey | undefined> {
  const [passkey] = await query<StoredPasskey>(
    `select org_id, passkey_id, user_id, public_key, counter, transports from passkeys
     where org_id = $1 and user_id = $2 and passkey_id = $3`,
    [org_id, user_id, passkey_id],
  );
  return passkey;
}

/** Newest first. */
export function listPasskeys(
  query: Query,
  org_id: string,
  user_id: string,
): Promise<(Passkey & Pick<KnownPasskey, "transports">)[]> {
  return query(
    `select passkey_id, name, transports, created_at, last_used_at from passkeys
     where org_id = $1 and user_id = $2 order by created_at desc, passkey_id collate "C" desc`,
    [org_id, user_id],
  );
}

/** Returns false if the id is taken. System scope. */
export async function insertPasskey(query: Query, passkey: NewPasskey): Promise<boolean> {
  const { org_id, passkey_id, user_id, name, public_key, counter, transports, created_at } = passkey;
  const mine = await query(
    `insert into passkey_index (passkey_id, org_id, user_id) values ($1, $2, $3)
     on conflict (passkey_id) do nothing returning true as mine`,
    [passkey_id, org_id, user_id],
  );
  if (mine.length === 0) return false;
  await query(
    `insert into passkeys (org_id, passkey_id, user_id, name, public_key, counter, transports, created_at)
     values ($1, $2, $3, $4, $5, $6::bigint, $7::json, $8::timestamptz)`,
    [org_id, passkey_id, user_id, name, public_key, counter, JSON.stringify(transports), created_at],
  );
  return true;
}

/**
 * Of concurrent uses, one succeeds. Returns false if the passkey is gone, or was used with this count or a later one.
 * Some authenticators always count 0.
 */
export async function notePasskeyUse(
  query: Query,
  { org_id, passkey_id }: Pick<StoredPasskey, "org_id" | "passkey_id">,
  counter: number,
  at: string,
): Promise<boolean> {
  const rows = await query(
    `update passkeys set counter = $3::bigint, last_used_at = $4::timestamptz
     where org_id = $1 and passkey_id = $2 and (counter < $3::bigint or (counter = 0 and $3::bigint = 0)) returning true as used`,
    [org_id, passkey_id, counter, at],
  );
  return rows.length > 0;
}

/** Returns false if there is none. System scope. */
export async function deletePasskey(
  query: Query,
  org_id: string,
  user_id: string,
  passkey_id: string,
): Promise<boolean> {
  const rows = await query(
    "delete from passkeys where org_id = $1 and user_id = $2 and passkey_id = $3 returning true as deleted",
    [org_id, user_id, passkey_id],
  );
  if (rows.length === 0) return false;
  await query("delete from passkey_index where passkey_id = $1 and org_id = $2", [passkey_id, org_id]);
  return true;
}
