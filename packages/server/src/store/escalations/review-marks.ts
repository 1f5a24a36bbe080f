/** SQL for what people note about an open review without deciding it: who takes it, comments, snoozes. */
import { type Escalation, limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";

type Marks = Pick<Escalation, "taken" | "comments" | "snoozed_until">;

/** Reads the marks of one review, as `person` sees them. */
export async function readMarks(query: Query, org_id: string, record: Escalation, person: string): Promise<Marks> {
  const { escalation_id, intent_id } = record;
  const [row] = await query<{ taken_by: string | null; taken_at: string | null; until: string | null }>(
    `select e.taken_by, e.taken_at, s.until from escalations e
     left join review_snoozes s on s.org_id = $1 and s.escalation_id = e.escalation_id and s.person = $3
       and s.until > statement_timestamp()
     where e.org_id = $1 and e.escalation_id = $2`,
    [org_id, escalation_id, person],
  );
  const comments = await query<NonNullable<Escalation["comments"]>[number]>(
    `select coalesce(data ->> 'by', actor) as by, data ->> 'comment' as comment, at from ledger
     where org_id = $1 and intent_id = $2 and type <> 'decided' and type = 'commented' and leaf is null order by seq desc limit $3::integer`,
    [org_id, intent_id, limits.review_comments_max],
  );
  const { taken_by = null, taken_at = null, until = null } = row ?? {};
  const is_open = record.status === "pending";
  return {
    ...(is_open && taken_by !== null && taken_at !== null && { taken: { by: taken_by, at: taken_at } }),
    ...(comments.length > 0 && { comments: comments.reverse() }),
    ...(is_open && until !== null && { snoozed_until: until }),
  };
}

/** `by` null: nobody works on it. */
export async function writeTaken(
  query: Query,
  org_id: string,
  escalation_id: string,
  by: string | null,
  at: string,
): Promise<void> {
  await query(
    `update escalations set taken_by = $3, taken_at = case when $3::text is null then null else $4::timestamptz end
     where org_id = $1 and escalation_id = $2`,
    [org_id, escalation_id, by, at],
  );
}

export async function writeSnooze(
  query: Query,
  org_id: string,
  escalation_id: string,
  person: string,
  until: string,
): Promise<void> {
  await query(
    `insert into review_snoozes (org_id, escalation_id, person, until) values ($1, $2, $3, $4::timestamptz)
     on conflict (org_id, escalation_id, person) do update set until = excluded.until`,
    [org_id, escalation_id, person, until],
  );
}

/** `person` null: of everybody. */
export async function endSnoozes(
  query: Query,
  org_id: string,
  escalation_id: string,
  person: string | null,
): Promise<void> {
  await query(
    "delete from review_snoozes where org_id = $1 and escalation_id = $2 and ($3::text is null or person = $3)",
    [org_id, escalation_id, person],
  );
}
