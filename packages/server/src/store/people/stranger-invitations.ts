import type { Query } from "../../ports.ts";

/**
 * Counts one invitation for each sender of an organization without people. Returns today's counts (UTC, database clock)
 * in order, and deletes older counts.
 */
export async function countStrangerInvitation(query: Query, senders: readonly string[]): Promise<number[]> {
  await query("delete from stranger_invitations where day < (statement_timestamp() at time zone 'UTC')::date");
  const rows = await query<{ sender: string; sent: number }>(
    `insert into stranger_invitations as s (sender, day, sent)
     select sender, (clock_timestamp() at time zone 'UTC')::date, 1 from unnest($1::text[]) as sender order by sender
     on conflict (sender, day) do update set sent = s.sent + 1
     returning sender, sent`,
    [senders],
  );
  const sent = new Map(rows.map((row) => [row.sender, row.sent]));
  return senders.map((sender) => sent.get(sender) ?? 0);
}
