/** Moves stored times into the past, because tests cannot set the database's clock. */
import type { Query } from "../../ports.ts";

/** Tables whose rows expire. */
const ids = {
  api_keys: "key_id",
  overrides: "override_id",
  escalations: "escalation_id",
  sessions: "session_id",
  invitations: "invitation_id",
} as const;

export async function expireNow(db: { readonly query: Query }, table: keyof typeof ids, id: string): Promise<void> {
  const rows = await db.query(
    `update ${table} set expires_at = clock_timestamp() where ${ids[table]} = $1 returning true as expired`,
    [id],
  );
  if (rows.length !== 1) throw new Error(`${table} has no row ${id}`);
}

/** Covers sessions, mailed links, challenges, invitations, domain claims, used codes and daily mails. */
export async function letPass(db: { readonly query: Query }, seconds: number): Promise<void> {
  const times = {
    sessions: ["created_at", "last_seen_at", "expires_at"],
    person_tokens: ["expires_at"],
    invitations: ["created_at", "expires_at"],
    sso_domains: ["proven_at", "checked_at"],
  };
  for (const [table, columns] of Object.entries(times)) {
    const moved = columns.map((column) => `${column} = ${column} - make_interval(secs => $1::float8)`);
    await db.query(`update ${table} set ${moved.join(", ")}`, [seconds]);
  }
  await db.query(
    `update people set totp_last_step = totp_last_step - floor($1::float8 / 30)::bigint,
       digest_at = digest_at - make_interval(secs => $1::float8)`,
    [seconds],
  );
}
