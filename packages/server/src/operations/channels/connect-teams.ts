import type { TeamsChannel, TeamsChannelInput } from "@countersign/contract";
import { formatTimestampUs, teamsMessage } from "@countersign/core";
import { channelContext, type StoredChannel } from "../../store/channels/channels.ts";
import type { KnownCaller } from "../people/caller-ended.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { acceptedAddress, invalid, storeChannel } from "./connect-slack.ts";

export interface TeamsSettings {
  readonly webhook_host: string;
}

const json = { "Content-Type": "application/json" };

/**
 * Replaces the Teams channel after a first card reached it. The whole address is a secret, because it lets anybody post.
 * Faults: invalid_request (the workflow does not accept the card), those of refuseEnded.
 */
export async function putTeamsChannel(
  runtime: Recording & Pick<Runtime, "sealer" | "httpOut">,
  caller: KnownCaller,
  { webhook_url }: TeamsChannelInput,
): Promise<TeamsChannel> {
  const { org_id } = caller;
  const address = await acceptedAddress(runtime, "/webhook_url", webhook_url);
  const text = "Countersign announces here the actions of agents that wait for a review.";
  const failed = await postToTeams(runtime, address, teamsMessage([{ type: "TextBlock", text, wrap: true }]));
  if (failed !== null) throw invalid("/webhook_url", "not_allowed", `The first card did not arrive. ${failed}`);
  const row = {
    org_id,
    channel: "teams" as const,
    settings: { webhook_host: new URL(address).host },
    secret_sealed: runtime.sealer.seal(address, channelContext(org_id, "teams")),
    updated_at: formatTimestampUs(runtime.clock.now_us()),
  };
  await storeChannel(runtime, caller, row, { channel: "teams", ...row.settings });
  return shownTeams(row);
}

export function shownTeams({ settings, updated_at }: StoredChannel<TeamsSettings>): TeamsChannel {
  return { ...settings, updated_at };
}

/** Null: accepted. Else the cause as a sentence. */
export async function postToTeams(
  { httpOut }: Pick<Runtime, "httpOut">,
  address: string,
  message: object,
): Promise<string | null> {
  return (await httpOut.post(address, json, JSON.stringify(message))).error;
}
