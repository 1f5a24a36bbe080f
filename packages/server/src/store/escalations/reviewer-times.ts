/** SQL for the times when a review was shown to a person and when the person ruled (decision 0039). */
import { limits } from "@countersign/contract";
import type { MeasuredVote } from "@countersign/core";
import type { Query } from "../../ports.ts";

/** Notes when a review was first shown to a person. */
export async function noteShown(
  query: Query,
  org_id: string,
  escalation_id: string,
  person: string,
  at: string,
): Promise<void> {
  await query(
    `insert into reviewer_times (org_id, escalation_id, person, shown_at) values ($1, $2, $3, $4::timestamptz)
     on conflict (org_id, escalation_id, person) do update set shown_at = excluded.shown_at where reviewer_times.shown_at is null`,
    [org_id, escalation_id, person, at],
  );
}

export async function wasShown(query: Query, org_id: string, escalation_id: string, person: string): Promise<boolean> {
  const rows = await query(
    `select true as shown from reviewer_times
     where org_id = $1 and escalation_id = $2 and person = $3 and shown_at is not null`,
    [org_id, escalation_id, person],
  );
  return rows.length > 0;
}

/** Returns the pace that an approval now would have. Needs the head's lock, so that no other approval comes between. */
export async function measureVote(
  query: Query,
  org_id: string,
  escalation_id: string,
  person: string,
  at: string,
): Promise<MeasuredVote> {
  const [row] = await query<{ shown_ms: number | null; others: number }>(
    `select (select extract(epoch from $4::timestamptz - shown_at)::float8 * 1000 from reviewer_times
         where org_id = $1 and escalation_id = $2 and person = $3) as shown_ms,
       (select count(*)::integer from reviewer_times
         where org_id = $1 and ruled_at > $4::timestamptz - make_interval(secs => $5::integer)
           and person = $3 and approved and escalation_id <> $2) as others`,
    [org_id, escalation_id, person, at, limits.pace_window_seconds],
  );
  const { shown_ms = null, others = 0 } = row ?? {};
  const shown_seconds = shown_ms === null ? null : Math.max(0, Math.floor(shown_ms)) / 1_000;
  return { shown_seconds, approvals_in_five_minutes: others + 1 };
}

/** Notes a ruling, which replaces the person's earlier one on this review. Needs the head's lock. */
export async function noteRuled(
  query: Query,
  org_id: string,
  escalation_id: string,
  person: string,
  { at, approved, fast }: { readonly at: string; readonly approved: boolean; readonly fast: boolean },
): Promise<void> {
  await query(
    `insert into reviewer_times (org_id, escalation_id, person, ruled_at, approved, fast)
     values ($1, $2, $3, $4::timestamptz, $5::boolean, $6::boolean)
     on conflict (org_id, escalation_id, person) do update
       set ruled_at = excluded.ruled_at, approved = excluded.approved, fast = excluded.fast`,
    [org_id, escalation_id, person, at, approved, fast],
  );
}
