import type {
  Channels,
  OwnChannels,
  PushDeviceInput,
  SlackChannel,
  SlackChannelInput,
  SlackLinkCode,
  TeamsChannel,
  TeamsChannelInput,
} from "@countersign/contract";
import type { Transport } from "../transport.ts";

const path = "/v1/channels";
const own = "/v1/auth/channels";

export function channelCalls(call: Transport) {
  return {
    /** Returns where reviews are announced. */
    getChannels: async () => (await call<{ channels: Channels }>("GET", path)).channels,
    /** Announces reviews in a Slack channel. */
    putSlackChannel: async (input: SlackChannelInput) =>
      (await call<{ slack: SlackChannel }>("PUT", `${path}/slack`, { body: input })).slack,
    deleteSlackChannel: () => call<null>("DELETE", `${path}/slack`),
    /** Announces reviews in a Microsoft Teams channel. */
    putTeamsChannel: async (input: TeamsChannelInput) =>
      (await call<{ teams: TeamsChannel }>("PUT", `${path}/teams`, { body: input })).teams,
    deleteTeamsChannel: () => call<null>("DELETE", `${path}/teams`),
    /** Returns where you get notices. */
    getOwnChannels: async () => (await call<{ channels: OwnChannels }>("GET", own)).channels,
    /** Returns a command for Slack that links your account. */
    beginSlackLink: async () => (await call<{ link: SlackLinkCode }>("POST", `${own}/slack`)).link,
    endSlackLink: () => call<null>("DELETE", `${own}/slack`),
    /** Gets push notices in this browser. */
    addPushDevice: async (input: PushDeviceInput) =>
      (await call<{ channels: OwnChannels }>("POST", `${own}/push`, { body: input })).channels,
    deletePushDevice: (device_id: string) => call<null>("DELETE", `${own}/push/${encodeURIComponent(device_id)}`),
  };
}
