/** SQL for context sources. Changes need the lock of the organization's head. */
import type { Query } from "../../ports.ts";

export interface ContextSourceRow {
  readonly url: string;
  readonly timeout_ms: number;
  /** Distinguishes registrations, because every registration has a new one. */
  readonly secret_sealed: string;
  readonly created_at: string;
}

export async function readContextSource(query: Query, org_id: string): Promise<ContextSourceRow | null> {
  const [row] = await query<ContextSourceRow>(
    "select url, timeout_ms, secret_sealed, created_at from context_sources where org_id = $1",
    [org_id],
  );
  return row ?? null;
}

export async function writeContextSource(query: Query, org_id: string, source: ContextSourceRow): Promise<void> {
  await query(
    `insert into context_sources (org_id, url, timeout_ms, secret_sealed, created_at)
     values ($1, $2, $3::integer, $4, $5::timestamptz)
     on conflict (org_id) do update set url = excluded.url, timeout_ms = excluded.timeout_ms,
       secret_sealed = excluded.secret_sealed, created_at = excluded.created_at`,
    [org_id, source.url, source.timeout_ms, source.secret_sealed, source.created_at],
  );
}

export async function deleteContextSource(query: Query, org_id: string): Promise<string | undefined> {
  const [row] = await query<{ url: string }>("delete from context_sources where org_id = $1 returning url", [org_id]);
  return row?.url;
}

/** Binds the sealed secret to this organization's source. */
export function sourceSecretContext(org_id: string): string {
  return `${org_id} context_sources secret`;
}
