import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { closed, filledText, id, nullable, text, timestamp } from "./shapes.ts";

const url = (description: string) =>
  Type.String({ minLength: 1, maxLength: limits.webhook_url_chars_max, description });
const secret = (description: string) => filledText(limits.chat_secret_chars_max, { description });

export const SlackChannelInput = closed(
  {
    channel_id: Type.String({
      pattern: "^[CG][A-Z0-9]{2,30}$",
      maxLength: 31,
      description: "the channel's id (C… or G…), at the end of Slack's “About” dialog. The app must be a member",
    }),
    bot_token: Type.Optional(secret("the app's bot token (xoxb-…). Absent: unchanged")),
    signing_secret: Type.Optional(secret("the app's signing secret. Absent: unchanged")),
    api_url: Type.Optional(
      url("the base of Slack's API. Default: https://slack.com/api. GovSlack: https://slack-gov.com/api"),
    ),
  },
  { title: "SlackChannelInput" },
);
export type SlackChannelInput = Static<typeof SlackChannelInput>;

export const SlackChannel = Type.Object(
  {
    channel_id: text(40),
    team_id: text(40, { description: "the workspace of the bot token" }),
    api_url: text(limits.webhook_url_chars_max),
    request_url: text(limits.webhook_url_chars_max, {
      description: "the address for the app's interactivity and for its slash command",
    }),
    updated_at: timestamp(),
  },
  { title: "SlackChannel" },
);
export type SlackChannel = Static<typeof SlackChannel>;

export const TeamsChannelInput = closed(
  {
    webhook_url: url(
      "the address of the workflow that starts when a Teams webhook request is received. It is a secret",
    ),
  },
  { title: "TeamsChannelInput" },
);
export type TeamsChannelInput = Static<typeof TeamsChannelInput>;

export const TeamsChannel = Type.Object(
  {
    webhook_host: text(limits.webhook_url_chars_max, { description: "the rest of the address is a secret" }),
    updated_at: timestamp(),
  },
  { title: "TeamsChannel" },
);
export type TeamsChannel = Static<typeof TeamsChannel>;

export const Channels = Type.Object(
  {
    slack: nullable(SlackChannel),
    teams: nullable(TeamsChannel),
    slack_request_url: text(limits.webhook_url_chars_max, { description: "`request_url`, before Slack is connected" }),
  },
  { title: "Channels" },
);
export type Channels = Static<typeof Channels>;

/** Text of a signed form of Slack. */
export const SlackForm = Type.String({
  maxLength: limits.slack_request_bytes_max,
  description: "a form with `payload` (a click) or `command` (a slash command)",
});

export const SlackReply = Type.Object(
  { response_type: Type.Literal("ephemeral"), text: text(limits.comment_chars_max) },
  { title: "SlackReply" },
);
export type SlackReply = Static<typeof SlackReply>;

export const SlackLinkCode = Type.Object(
  {
    code: text(40, { description: "works once, for ten minutes" }),
    command: text(80, { description: "type this in Slack" }),
    expires_at: timestamp(),
  },
  { title: "SlackLinkCode" },
);
export type SlackLinkCode = Static<typeof SlackLinkCode>;

const PushDevice = Type.Object({
  device_id: id("push_device"),
  name: text(limits.name_chars_max),
  created_at: timestamp(),
});

/** Where the calling person gets notices. */
export const OwnChannels = Type.Object(
  {
    slack: Type.Object({
      connected: Type.Boolean({ description: "whether the organization has connected Slack" }),
      linked_as: nullable(text(40, { description: "the person's id in Slack; null: not linked" })),
      linked_at: nullable(timestamp()),
    }),
    push_public_key: text(120, { description: "the applicationServerKey (VAPID) for this organization, base64url" }),
    push_devices: Type.Array(PushDevice, { description: "newest first" }),
  },
  { title: "OwnChannels" },
);
export type OwnChannels = Static<typeof OwnChannels>;

/** A browser's PushSubscription. */
export const PushDeviceInput = closed(
  {
    name: filledText(limits.name_chars_max, { description: "for people, for example “Firefox on Linux”" }),
    endpoint: url("the push service's address for this browser"),
    keys: closed({
      p256dh: Type.String({ pattern: "^[A-Za-z0-9_-]{80,100}={0,2}$", maxLength: 102 }),
      auth: Type.String({ pattern: "^[A-Za-z0-9_-]{16,32}={0,2}$", maxLength: 34 }),
    }),
  },
  { title: "PushDeviceInput" },
);
export type PushDeviceInput = Static<typeof PushDeviceInput>;
