import type { Query } from "../../ports.ts";
import { channelContext, readChannel } from "../../store/channels/channels.ts";
import { deletePushDevice, readPushDevice, subscriptionContext } from "../../store/channels/push-devices.ts";
import type { MailContents } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";
import type { PushSettings } from "./push-devices.ts";

const terms = { timeout_ms: 10_000, answer_bytes_max: 65_536 };
/** The browser ended the subscription. Source: RFC 8030, section 7.3. */
const goneStatuses: readonly number[] = [404, 410];

export type PushSending = Pick<Runtime, "db" | "sealer" | "settings" | "httpOut" | "pushRequests">;

/** Sends one notice. Forgets a browser that the push service no longer knows. Throws if a retry is needed. */
export async function sendPush(
  runtime: PushSending,
  { org_id, device_id, ttl_seconds, urgency, ...notice }: MailContents["push"],
): Promise<void> {
  const found = await runtime.db.tenant(org_id, (query) => readTarget(runtime, query, org_id, device_id));
  // The person removed the browser meanwhile.
  if (found === null) return;
  const { keys, subscription } = found;
  const message = JSON.stringify({ ...notice, url: `${runtime.settings.public_url()}${notice.path}` });
  const { headers, body } = await runtime.pushRequests.build(keys, subscription, message, { ttl_seconds, urgency });
  const answered = await runtime.httpOut.ask(subscription.endpoint, headers, body, terms);
  if ("failed" in answered) throw new Error(answered.text);
  if (goneStatuses.includes(answered.status)) {
    await runtime.db.tenant(org_id, (query) => deletePushDevice(query, org_id, null, device_id));
    return;
  }
  if (answered.status < 200 || answered.status > 299)
    throw new Error(`the push service answered with status ${answered.status}`);
}

async function readTarget(
  { sealer, settings }: Pick<Runtime, "sealer" | "settings">,
  query: Query,
  org_id: string,
  device_id: string,
) {
  const device = await readPushDevice(query, org_id, device_id);
  const channel = await readChannel<PushSettings>(query, org_id, "push");
  if (device === undefined || channel === undefined) return null;
  const private_jwk = sealer.open(channel.secret_sealed, channelContext(org_id, "push"));
  const subscription = sealer.open(device.subscription_sealed, subscriptionContext(org_id, device_id));
  return {
    keys: { ...channel.settings, private_jwk, contact: settings.public_url() },
    subscription: JSON.parse(subscription) as { endpoint: string; keys: { p256dh: string; auth: string } },
  };
}
