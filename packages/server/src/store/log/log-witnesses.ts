import type { Query } from "../../ports.ts";
import type { SignedCheckpoint } from "./read-checkpoint.ts";

export interface CosignedCheckpoint {
  readonly witness: string;
  readonly size: number;
  /** With the log's signatures only. */
  readonly note: string;
  readonly line: string;
  /** RFC 3339 UTC. */
  readonly cosigned_at: string;
}

/** Null members: it cosigned nothing. */
export interface WitnessState {
  readonly witness: string;
  readonly size: number;
  readonly note: string | null;
  readonly line: string | null;
  readonly cosigned_at: string | null;
  readonly problem: string | null;
  readonly failing_since: string | null;
}

export function readWitnesses(query: Query, org_id: string): Promise<WitnessState[]> {
  return query<WitnessState>(
    `select witness, size, note, line, cosigned_at, problem, failing_since from log_witnesses where org_id = $1 order by witness`,
    [org_id],
  );
}

/** Returns organizations with a checkpoint that the witness did not cosign, by id. System scope. */
export async function organizationsToWitness(
  query: Query,
  witness: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await query<{ org_id: string }>(
    `select l.org_id from logs l where l.org_id > $2 and not exists (
       select from log_witnesses w where w.org_id = l.org_id and w.witness = $1 and (w.size >= l.size or w.next_at > statement_timestamp()))
     order by l.org_id limit $3::integer`,
    [witness, after, limit],
  );
  return rows.map(({ org_id }) => org_id);
}

/**
 * Takes the turn to ask a witness until `wait_seconds` from now. Returns the newest checkpoint and the size that the
 * witness has. Null: another node has the turn.
 */
export async function takeWitnessTurn(
  query: Query,
  org_id: string,
  witness: string,
  wait_seconds: number,
): Promise<(SignedCheckpoint & { readonly cosigned_size: number }) | null> {
  const [row] = await query<SignedCheckpoint & { readonly cosigned_size: number }>(
    `with turn as (
       insert into log_witnesses as w (org_id, witness, size, next_at)
       values ($1, $2, 0, statement_timestamp() + make_interval(secs => $3::float8))
       on conflict (org_id, witness) do update set next_at = excluded.next_at where w.next_at <= statement_timestamp()
       returning size)
     select l.origin, l.size, l.root, l.note, l.signed_at, t.size as cosigned_size from logs l, turn t where l.org_id = $1`,
    [org_id, witness, wait_seconds],
  );
  return row ?? null;
}

export async function saveCosignature(query: Query, org_id: string, cosigned: CosignedCheckpoint): Promise<void> {
  await query(
    `update log_witnesses set size = $3::bigint, note = $4, line = $5, cosigned_at = $6::timestamptz, problem = null, failing_since = null
     where org_id = $1 and witness = $2 and size <= $3::bigint`,
    [org_id, cosigned.witness, cosigned.size, cosigned.note, cosigned.line, cosigned.cosigned_at],
  );
}

/** Asks again after `wait_seconds`. Returns whether the problem is new. */
export async function saveWitnessProblem(
  query: Query,
  org_id: string,
  { witness, problem, wait_seconds }: { witness: string; problem: string; wait_seconds: number },
): Promise<boolean> {
  const [before] = await query<{ problem: string | null }>(
    "select problem from log_witnesses where org_id = $1 and witness = $2 for update",
    [org_id, witness],
  );
  await query(
    `update log_witnesses set problem = $3, failing_since = coalesce(failing_since, statement_timestamp()),
       next_at = statement_timestamp() + make_interval(secs => $4::float8)
     where org_id = $1 and witness = $2`,
    [org_id, witness, problem, wait_seconds],
  );
  return before?.problem !== problem;
}
