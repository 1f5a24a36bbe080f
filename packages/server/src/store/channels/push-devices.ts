/** SQL for browsers that get push notices. */
import type { Query } from "../../ports.ts";

export interface StoredDevice {
  readonly org_id: string;
  readonly device_id: string;
  readonly user_id: string;
  readonly name: string;
  readonly subscription_sealed: string;
  readonly created_at: string;
}

/** Newest first. */
export function readPushDevices(query: Query, org_id: string, user_id: string): Promise<StoredDevice[]> {
  return query<StoredDevice>(
    `select org_id, device_id, user_id, name, subscription_sealed, created_at from push_devices
     where org_id = $1 and user_id = $2 order by device_id desc`,
    [org_id, user_id],
  );
}

export async function readPushDevice(
  query: Query,
  org_id: string,
  device_id: string,
): Promise<StoredDevice | undefined> {
  const [device] = await query<StoredDevice>(
    `select org_id, device_id, user_id, name, subscription_sealed, created_at from push_devices
     where org_id = $1 and device_id = $2`,
    [org_id, device_id],
  );
  return device;
}

/** Replaces the device with the same endpoint, also another person's: the browser is now this person's. */
export async function writePushDevice(
  query: Query,
  device: StoredDevice & { readonly endpoint_sha256: string },
): Promise<void> {
  const { org_id, device_id, user_id, name, endpoint_sha256, subscription_sealed, created_at } = device;
  await query("delete from push_devices where org_id = $1 and endpoint_sha256 = decode($2, 'hex')", [
    org_id,
    endpoint_sha256,
  ]);
  await query(
    `insert into push_devices (org_id, device_id, user_id, name, endpoint_sha256, subscription_sealed, created_at)
     values ($1, $2, $3, $4, decode($5, 'hex'), $6, $7::timestamptz)`,
    [org_id, device_id, user_id, name, endpoint_sha256, subscription_sealed, created_at],
  );
}

/** `user_id` null: of any person, after the push service said that the browser is gone. */
export async function deletePushDevice(
  query: Query,
  org_id: string,
  user_id: string | null,
  device_id: string,
): Promise<boolean> {
  const rows = await query(
    `delete from push_devices where org_id = $1 and device_id = $3 and ($2::text is null or user_id = $2)
     returning true as deleted`,
    [org_id, user_id, device_id],
  );
  return rows.length > 0;
}

/** Sealing context of a browser's subscription. */
export function subscriptionContext(org_id: string, device_id: string): string {
  return `${org_id} push_device ${device_id}`;
}
