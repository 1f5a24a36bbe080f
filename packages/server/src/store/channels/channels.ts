/** SQL for the channels of an organization. Changes hold the lock of the organization's head. */
import type { Query } from "../../ports.ts";

export type StoredChannelName = "slack" | "teams" | "push";

export interface StoredChannel<Settings extends object = Record<string, unknown>> {
  readonly org_id: string;
  readonly channel: StoredChannelName;
  readonly settings: Settings;
  readonly secret_sealed: string;
  /** RFC 3339. */
  readonly updated_at: string;
}

export async function readChannel<Settings extends object>(
  query: Query,
  org_id: string,
  channel: StoredChannelName,
): Promise<StoredChannel<Settings> | undefined> {
  const [row] = await query<StoredChannel<Settings>>(
    `select org_id, channel, settings, secret_sealed, updated_at from channels where org_id = $1 and channel = $2`,
    [org_id, channel],
  );
  return row;
}

export async function writeChannel(query: Query, row: StoredChannel<object>): Promise<void> {
  await query(
    `insert into channels (org_id, channel, settings, secret_sealed, updated_at)
     values ($1, $2, $3::json, $4, $5::timestamptz)
     on conflict (org_id, channel) do update set settings = excluded.settings, secret_sealed = excluded.secret_sealed,
       updated_at = excluded.updated_at`,
    [row.org_id, row.channel, JSON.stringify(row.settings), row.secret_sealed, row.updated_at],
  );
}

/** Keeps what is there, so that two nodes agree on one key pair. */
export async function insertChannelOnce(query: Query, row: StoredChannel<object>): Promise<void> {
  await query(
    `insert into channels (org_id, channel, settings, secret_sealed, updated_at)
     values ($1, $2, $3::json, $4, $5::timestamptz) on conflict (org_id, channel) do nothing`,
    [row.org_id, row.channel, JSON.stringify(row.settings), row.secret_sealed, row.updated_at],
  );
}

/** Also deletes what is to be sent there. False: there was no such channel. */
export async function deleteChannel(query: Query, org_id: string, channel: StoredChannelName): Promise<boolean> {
  await query("delete from review_cards where org_id = $1 and channel = $2", [org_id, channel]);
  const rows = await query("delete from channels where org_id = $1 and channel = $2 returning true as deleted", [
    org_id,
    channel,
  ]);
  return rows.length > 0;
}

/** Sealing context of a channel's tokens. */
export function channelContext(org_id: string, channel: string): string {
  return `${org_id} channel ${channel}`;
}
