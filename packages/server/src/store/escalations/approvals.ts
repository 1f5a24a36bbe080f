/** SQL for approvals of reviews. Every change holds the lock of the organization's head (decision 0037). */
import type { Query } from "../../ports.ts";

export interface Approval {
  /** The only intent that may claim the approval. Null: every intent of the review. */
  readonly holder: string | null;
  /** True: claimed, or possibly carried out. */
  readonly spent: boolean;
  readonly revoked: boolean;
}

/** Returns the approval of a review. Throws if the review is not stored. */
export async function readApproval(query: Query, org_id: string, escalation_id: string): Promise<Approval> {
  const [row] = await query<Approval>(
    `select approval_holder as holder, approval_spent as spent, approval_revoked as revoked from escalations
     where org_id = $1 and escalation_id = $2`,
    [org_id, escalation_id],
  );
  if (row === undefined) throw new Error(`${escalation_id} is not stored`);
  return row;
}

interface Done {
  readonly at: string;
  readonly actor: string;
}

/** Makes an intent the only one that may claim the approval. `spent`: it claims, or may have carried the action out. */
export async function holdApproval(
  query: Query,
  org_id: string,
  escalation_id: string,
  { intent_id, spent, at, actor }: Done & { readonly intent_id: string; readonly spent: boolean },
): Promise<void> {
  await query(
    `update escalations set approval_holder = $3, approval_spent = $4, approval_moved_at = $5::timestamptz, approval_moved_by = $6
     where org_id = $1 and escalation_id = $2`,
    [org_id, escalation_id, intent_id, spent, at, actor],
  );
}

export async function markApprovalRevoked(
  query: Query,
  org_id: string,
  escalation_id: string,
  { at, actor }: Done,
): Promise<void> {
  await query(
    `update escalations set approval_revoked = true, approval_moved_at = $3::timestamptz, approval_moved_by = $4
     where org_id = $1 and escalation_id = $2`,
    [org_id, escalation_id, at, actor],
  );
}

export interface EqualReview {
  readonly escalation_id: string;
  readonly intent_id: string;
  /** The intent that would lose the approval: its holder, else the opener of the review. */
  readonly from: string;
  /** True: approved and unused. False: pending, and no request waits for it. */
  readonly approved: boolean;
}

/** Reviews of the same action by the same rotation chain. */
export interface EqualAction {
  /** 64 lower-case hex digits. */
  readonly fingerprint: string;
  readonly mode: string;
  readonly lineage_id: string | null;
}

const equal_columns = "e.escalation_id, e.intent_id, coalesce(e.approval_holder, e.intent_id) as from";
const is_equal = `e.org_id = $1 and e.fingerprint = decode($2, 'hex') and e.mode = $3 and e.lineage_id is not distinct from $4
  and not e.approval_spent`;
const is_approved = "e.approval_until > clock_timestamp() and not e.approval_revoked";

/**
 * Returns reviews that an equal action can use: approved ones first, then pending ones, oldest first, up to 20 each.
 */
export function readEqualReviews(
  query: Query,
  org_id: string,
  { fingerprint, mode, lineage_id }: EqualAction,
): Promise<EqualReview[]> {
  return query<EqualReview>(
    `(select ${equal_columns}, true as approved from escalations e where ${is_equal} and ${is_approved}
      order by e.escalation_id limit 20)
     union all
     (select ${equal_columns}, false as approved from escalations e where ${is_equal} and e.status = 'pending' and e.expires_at > clock_timestamp()
        and not exists (select from review_waits w where w.org_id = $1 and w.escalation_id = e.escalation_id and w.until > clock_timestamp())
      order by e.escalation_id limit 20)
     order by approved desc, escalation_id`,
    [org_id, fingerprint, mode, lineage_id],
  );
}

/** Returns the intents that opened these reviews, and those that hold their approvals. Skips ids that are no review. */
export async function readIntentsOfReviews(
  query: Query,
  org_id: string,
  escalation_ids: readonly string[],
): Promise<string[]> {
  const rows = await query<{ intent_id: string; holder: string | null }>(
    `select intent_id, approval_holder as holder from escalations where org_id = $1 and escalation_id = any ($2::text[])`,
    [org_id, escalation_ids],
  );
  return rows.flatMap(({ intent_id, holder }) => (holder === null ? [intent_id] : [intent_id, holder]));
}

/** Returns true if the approval is still active and `from` would still lose it. */
export async function canHandOn(
  query: Query,
  org_id: string,
  { escalation_id, from }: Pick<EqualReview, "escalation_id" | "from">,
): Promise<boolean> {
  const rows = await query(
    `select true as found from escalations e where e.org_id = $1 and e.escalation_id = $2 and not e.approval_spent and ${is_approved}
       and coalesce(e.approval_holder, e.intent_id) = $3`,
    [org_id, escalation_id, from],
  );
  return rows.length > 0;
}

export async function noteWaits(
  query: Query,
  org_id: string,
  node: string,
  waits: readonly { readonly escalation_id: string; readonly seconds: number }[],
): Promise<void> {
  await query(
    `insert into review_waits (org_id, escalation_id, node, until)
     select $1, w.escalation_id, $2, statement_timestamp() + make_interval(secs => w.seconds)
     from unnest($3::text[], $4::float8[]) as w(escalation_id, seconds) order by w.escalation_id
     on conflict (org_id, escalation_id, node) do update set until = greatest(review_waits.until, excluded.until)`,
    [org_id, node, waits.map((each) => each.escalation_id), waits.map((each) => each.seconds)],
  );
}

export async function forgetWaits(
  query: Query,
  org_id: string,
  node: string,
  escalation_ids: readonly string[],
): Promise<void> {
  await query("delete from review_waits where org_id = $1 and node = $2 and escalation_id = any ($3::text[])", [
    org_id,
    node,
    escalation_ids,
  ]);
}
