/** SQL for messages about reviews in chats. They are due by the database's time. */
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

/** Makes a card of each review in each chat of the organization. */
export async function addReviewCards(query: Query, org_id: string, escalation_ids: readonly string[]): Promise<void> {
  await query(
    `insert into review_cards (org_id, escalation_id, channel, due_at)
     select c.org_id, e.escalation_id, c.channel, now() from channels c cross join unnest($2::text[]) as e (escalation_id)
     where c.org_id = $1 and c.channel <> 'push'
     on conflict (org_id, escalation_id, channel) do nothing`,
    [org_id, escalation_ids],
  );
}

/** Requests an update of the card after a change of the review. A running attempt sees the number of changes. */
export async function noteReviewChanged(query: Query, org_id: string, escalation_id: string): Promise<void> {
  await query(
    `update review_cards set changes = changes + 1, attempts = 0, due_at = coalesce(due_at, now())
     where org_id = $1 and escalation_id = $2`,
    [org_id, escalation_id],
  );
}

export interface DueCard {
  readonly org_id: string;
  readonly escalation_id: string;
  readonly channel: "slack" | "teams";
  /** Null: not posted yet. */
  readonly message: { readonly channel: string; readonly ts: string } | null;
  readonly changes: number;
  readonly attempts: number;
}

/**
 * Leases due cards, at most `each_max` of an organization; after the lease, another node may send them. System scope.
 */
export async function claimCards(query: Query, lease_seconds: number, each_max: number): Promise<DueCard[]> {
  const due = await query<{ org_id: string }>(
    "select distinct org_id from (select org_id from review_cards where due_at <= now() order by due_at limit 1000) as d",
  );
  const claimed: DueCard[] = [];
  for (const [org_id] of byOrganization(due)) {
    const rows = await query<DueCard>(
      `update review_cards r set due_at = now() + make_interval(secs => $2::integer), attempts = r.attempts + 1
       from (select escalation_id, channel from review_cards where org_id = $1 and due_at <= now()
         order by due_at limit $3::integer for update skip locked) as d
       where r.org_id = $1 and r.escalation_id = d.escalation_id and r.channel = d.channel
       returning r.org_id, r.escalation_id, r.channel, r.message, r.changes, r.attempts - 1 as attempts`,
      [org_id, lease_seconds, each_max],
    );
    claimed.push(...rows);
  }
  return claimed;
}

/** Stores where the message is. A change of the review meanwhile makes the card due again. */
export async function noteCardSent(query: Query, card: DueCard, message: DueCard["message"]): Promise<void> {
  await query(
    `update review_cards set message = $4::json, attempts = 0, due_at = case when changes > $5::integer then now() end
     where org_id = $1 and escalation_id = $2 and channel = $3`,
    [card.org_id, card.escalation_id, card.channel, JSON.stringify(message), card.changes],
  );
}

export async function putOffCard(query: Query, card: DueCard, wait_seconds: number): Promise<void> {
  await query(
    `update review_cards set due_at = now() + make_interval(secs => $4::integer)
     where org_id = $1 and escalation_id = $2 and channel = $3`,
    [card.org_id, card.escalation_id, card.channel, wait_seconds],
  );
}

export async function deleteCard(query: Query, card: DueCard): Promise<void> {
  await query("delete from review_cards where org_id = $1 and escalation_id = $2 and channel = $3", [
    card.org_id,
    card.escalation_id,
    card.channel,
  ]);
}
