import { limits, type OwnChannels, type PushDeviceInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, sha256Hex } from "@countersign/core";
import { channelContext, insertChannelOnce, readChannel } from "../../store/channels/channels.ts";
import { readChatLink } from "../../store/channels/chat-links.ts";
import {
  deletePushDevice,
  readPushDevices,
  subscriptionContext,
  writePushDevice,
} from "../../store/channels/push-devices.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { personCalling } from "../people/session.ts";
import type { Recording, Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { acceptedAddress } from "./connect-slack.ts";

export interface PushSettings {
  /** Base64url of the uncompressed point, as browsers take it. */
  readonly public_key: string;
}

type Keeping = Recording & Pick<Runtime, "sealer" | "pushRequests">;

/** Returns where the calling person gets notices. Makes the organization's key pair for push notices if it has none. */
export async function readOwnChannels(runtime: Keeping, caller: Caller): Promise<OwnChannels> {
  const { org_id, user_id } = personCalling(caller);
  const push_public_key = await pushKey(runtime, org_id);
  return runtime.db.tenant(org_id, async (query) => {
    const connected = (await readChannel(query, org_id, "slack")) !== undefined;
    const link = await readChatLink(query, org_id, user_id);
    const devices = await readPushDevices(query, org_id, user_id);
    return {
      slack: { connected, linked_as: link?.chat_user_id ?? null, linked_at: link?.linked_at ?? null },
      push_public_key,
      push_devices: devices.map(({ device_id, name, created_at }) => ({ device_id, name, created_at })),
    };
  });
}

async function pushKey(runtime: Keeping, org_id: string): Promise<string> {
  const read = () => runtime.db.tenant(org_id, (query) => readChannel<PushSettings>(query, org_id, "push"));
  const known = await read();
  if (known !== undefined) return known.settings.public_key;
  const { public_key, private_jwk } = await runtime.pushRequests.newKeys();
  const row = {
    org_id,
    channel: "push" as const,
    settings: { public_key },
    secret_sealed: runtime.sealer.seal(private_jwk, channelContext(org_id, "push")),
    updated_at: formatTimestampUs(runtime.clock.now_us()),
  };
  await runtime.db.tenant(org_id, (query) => insertChannelOnce(query, row));
  return ((await read()) ?? row).settings.public_key;
}

/**
 * Adds a browser of the calling person. Faults: invalid_request (an address that the service may not call),
 * already_exists (too many), those of refuseEnded.
 */
export async function addPushDevice(
  runtime: Keeping & Pick<Runtime, "httpOut">,
  caller: Caller,
  { name, endpoint, keys }: PushDeviceInput,
): Promise<OwnChannels> {
  const { org_id, user_id } = personCalling(caller);
  await acceptedAddress(runtime, "/endpoint", endpoint);
  const device_id = runtime.ids.next("push_device");
  const subscription = JSON.stringify({ endpoint, keys });
  const device = {
    ...{ org_id, device_id, user_id, name },
    endpoint_sha256: sha256Hex(endpoint),
    subscription_sealed: runtime.sealer.seal(subscription, subscriptionContext(org_id, device_id)),
    created_at: formatTimestampUs(runtime.clock.now_us()),
  };
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      await writePushDevice(query, device);
      const { push_devices_per_person_max: most } = limits;
      if ((await readPushDevices(query, org_id, user_id)).length > most)
        throw faultAt("already_exists", "", "too_many", `A person has at most ${most} browsers. Remove one first.`);
      return null;
    }),
  );
  return readOwnChannels(runtime, caller);
}

/** Faults: not_found (also another person's), those of refuseEnded. */
export async function removePushDevice(runtime: Pick<Runtime, "db">, caller: Caller, device_id: string): Promise<void> {
  const { org_id, user_id } = personCalling(caller);
  if (!(await runtime.db.tenant(org_id, (query) => deletePushDevice(query, org_id, user_id, device_id))))
    throw new Fault("not_found");
}
