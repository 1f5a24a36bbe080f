import type { ProblemCode, SlackChannel, SlackChannelInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import {
  channelContext,
  deleteChannel,
  readChannel,
  type StoredChannel,
  type StoredChannelName,
  writeChannel,
} from "../../store/channels/channels.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { callSlack, type SlackSecrets, type SlackSettings } from "./slack-api.ts";

const usual_api_url = "https://slack.com/api";

/**
 * Replaces the Slack channel after a first message reached it. A token is sent only to the address for which it was
 * given. Faults: invalid_request (a missing token, or Slack refuses), those of refuseEnded.
 */
export async function putSlackChannel(
  runtime: Recording & Pick<Runtime, "sealer" | "httpOut" | "settings">,
  caller: KnownCaller,
  input: SlackChannelInput,
): Promise<SlackChannel> {
  const { org_id } = caller;
  const api_url = await acceptedAddress(runtime, "/api_url", input.api_url ?? usual_api_url);
  const known = await runtime.db.tenant(org_id, (query) => readChannel<SlackSettings>(query, org_id, "slack"));
  const kept = known === undefined ? null : slackSecrets(runtime, known);
  const bot_token = input.bot_token ?? (known?.settings.api_url === api_url ? kept?.bot_token : undefined);
  const signing_secret = input.signing_secret ?? kept?.signing_secret;
  if (bot_token === undefined) throw invalid("/bot_token", "required", "Give the app's bot token.");
  if (signing_secret === undefined) throw invalid("/signing_secret", "required", "Give the app's signing secret.");
  const { channel_id } = input;
  const team_id = await greet(runtime, api_url, bot_token, channel_id);
  const row = {
    org_id,
    channel: "slack" as const,
    settings: { channel_id, team_id, api_url },
    secret_sealed: runtime.sealer.seal(JSON.stringify({ bot_token, signing_secret }), channelContext(org_id, "slack")),
    updated_at: formatTimestampUs(runtime.clock.now_us()),
  };
  await storeChannel(runtime, caller, row, { channel: "slack", channel_id, team_id });
  return shownSlack(runtime, row);
}

/** Faults: not_found, those of refuseEnded. */
export async function removeChannel(
  runtime: Recording,
  caller: KnownCaller,
  channel: Exclude<StoredChannelName, "push">,
): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (!(await deleteChannel(query, org_id, channel))) throw new Fault("not_found");
      const data = { channel };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "channel_removed", data })] };
    }),
  );
}

export async function storeChannel(
  runtime: Recording,
  caller: KnownCaller,
  row: StoredChannel<object>,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { org_id, actor } = caller;
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      await writeChannel(query, row);
      const entry = { intent_id: null, at: row.updated_at, actor, type: "channel_connected", data } as const;
      return { audit: [auditRow(runtime.ids, entry)] };
    }),
  );
}

export function slackSecrets(
  { sealer }: Pick<Runtime, "sealer">,
  { org_id, secret_sealed }: Pick<StoredChannel, "org_id" | "secret_sealed">,
): SlackSecrets {
  return JSON.parse(sealer.open(secret_sealed, channelContext(org_id, "slack"))) as SlackSecrets;
}

export function shownSlack(
  runtime: Pick<Runtime, "settings">,
  { org_id, settings, updated_at }: StoredChannel<SlackSettings>,
): SlackChannel {
  return { ...settings, request_url: slackRequestUrl(runtime, org_id), updated_at };
}

/** The address for the app's interactivity and slash command. */
export function slackRequestUrl({ settings }: Pick<Runtime, "settings">, org_id: string): string {
  return `${settings.public_url()}/v1/channels/slack/${org_id}/requests`;
}

/** Returns the address without a trailing slash. Faults: invalid_request. */
export async function acceptedAddress(
  { httpOut }: Pick<Runtime, "httpOut">,
  path: string,
  url: string,
): Promise<string> {
  const verdict = await httpOut.check(url);
  if ("refused" in verdict) throw invalid(path, "not_allowed", verdict.refused);
  return verdict.href.replace(/\/$/, "");
}

/** Posts the first message. Returns the id of the workspace. Faults: invalid_request. */
async function greet(
  runtime: Pick<Runtime, "httpOut">,
  api_url: string,
  bot_token: string,
  channel: string,
): Promise<string> {
  const who = await callSlack(runtime, api_url, bot_token, "auth.test", {});
  if (!who.ok) throw invalid("/bot_token", "not_allowed", who.text);
  const { team_id } = who.fields;
  if (typeof team_id !== "string")
    throw invalid("/bot_token", "not_allowed", "Slack named no workspace for the token.");
  const text = "Countersign announces here the actions of agents that wait for a review.";
  const posted = await callSlack(runtime, api_url, bot_token, "chat.postMessage", { channel, text });
  if (!posted.ok) throw invalid("/channel_id", "not_allowed", posted.text);
  return team_id;
}

export function invalid(path: string, code: ProblemCode, message: string): Fault {
  return faultAt("invalid_request", path, code, message);
}
