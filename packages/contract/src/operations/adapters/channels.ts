import Type from "typebox";
import { limits } from "../../limits.ts";
import {
  Channels,
  closed,
  givenId,
  OwnChannels,
  PushDeviceInput,
  SlackChannel,
  SlackChannelInput,
  SlackForm,
  SlackLinkCode,
  SlackReply,
  TeamsChannel,
  TeamsChannelInput,
  wrapped,
} from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

const common = { tag: "Channels", rate: "general" } as const;
const body_bytes_max = limits.small_body_bytes_max;
const removed = { 204: { description: "Removed.", schema: null } } as const;
const own = { ...common, auth: "session" } as const;
const ownShown = { 200: { description: "The person's channels.", schema: wrapped("channels", OwnChannels) } } as const;

/** Where reviews are announced besides the console. */
export const channelOperations = {
  getChannels: {
    ...common,
    method: "GET",
    path: "/v1/channels",
    summary: "Read where reviews are announced",
    auth: ["admin", "auditor"],
    answers: { 200: { description: "The channels, without secrets.", schema: wrapped("channels", Channels) } },
  },
  putSlackChannel: {
    ...common,
    method: "PUT",
    path: "/v1/channels/slack",
    summary: "Announce reviews in a Slack channel",
    description:
      "Live reviews appear as a card with buttons. A linked reviewer can approve or block there. The service posts a first message " +
      "at once and refuses settings with which that fails.",
    auth: ["admin"],
    body: SlackChannelInput,
    body_bytes_max,
    answers: { 200: { description: "The channel.", schema: wrapped("slack", SlackChannel) } },
  },
  deleteSlackChannel: {
    ...common,
    method: "DELETE",
    path: "/v1/channels/slack",
    summary: "Disconnect Slack",
    description: "Buttons of earlier cards stop working. Links of people stay until they end them.",
    auth: ["admin"],
    answers: removed,
    refuses: ["not_found"],
  },
  putTeamsChannel: {
    ...common,
    method: "PUT",
    path: "/v1/channels/teams",
    summary: "Announce reviews in a Microsoft Teams channel",
    description:
      "Live reviews appear as an adaptive card with a link to the review. The service posts a first card at once and refuses an " +
      "address with which that fails.",
    auth: ["admin"],
    body: TeamsChannelInput,
    body_bytes_max,
    answers: { 200: { description: "The channel.", schema: wrapped("teams", TeamsChannel) } },
  },
  deleteTeamsChannel: {
    ...common,
    method: "DELETE",
    path: "/v1/channels/teams",
    summary: "Disconnect Microsoft Teams",
    auth: ["admin"],
    answers: removed,
    refuses: ["not_found"],
  },
  takeSlackRequest: {
    ...common,
    method: "POST",
    path: "/v1/channels/slack/{org_id}/requests",
    summary: "Take a click or a command from Slack",
    description:
      "Slack calls this address. The request must have Slack's signature (X-Slack-Signature, version v0) and a time of the last five " +
      "minutes. A click is a vote of the linked person, with the same rights and checks as in the console.",
    auth: "none",
    params: closed({ org_id: givenId("the organization") }),
    form: true,
    body: SlackForm,
    body_bytes_max: limits.slack_request_bytes_max,
    answers: { 200: { description: "A text for the person, or an empty object.", schema: Type.Partial(SlackReply) } },
    refuses: ["invalid_signature"],
  },
  getOwnChannels: {
    ...own,
    method: "GET",
    path: "/v1/auth/channels",
    summary: "Read where you get notices",
    answers: ownShown,
  },
  beginSlackLink: {
    ...own,
    method: "POST",
    path: "/v1/auth/channels/slack",
    summary: "Request a code that links your Slack account",
    description: "Type the command in Slack within ten minutes. Then votes from that Slack account are yours.",
    answers: { 201: { description: "The code, shown once.", schema: wrapped("link", SlackLinkCode) } },
    refuses: ["state_conflict"],
  },
  endSlackLink: {
    ...own,
    method: "DELETE",
    path: "/v1/auth/channels/slack",
    summary: "Unlink your Slack account",
    answers: removed,
    refuses: ["not_found"],
  },
  addPushDevice: {
    ...own,
    method: "POST",
    path: "/v1/auth/channels/push",
    summary: "Get push notices in this browser",
    description: "Takes the browser's push subscription. A second request with the same endpoint replaces the first.",
    body: PushDeviceInput,
    body_bytes_max,
    answers: { 201: { description: "The person's channels.", schema: wrapped("channels", OwnChannels) } },
    refuses: ["already_exists"],
  },
  deletePushDevice: {
    ...own,
    method: "DELETE",
    path: "/v1/auth/channels/push/{device_id}",
    summary: "Stop push notices in a browser",
    params: closed({ device_id: givenId("prefix psh_") }),
    answers: removed,
  },
} as const satisfies Record<string, Operation>;
