import type { Runtime } from "../runtime.ts";

/** Without secrets. */
export interface SlackSettings {
  readonly channel_id: string;
  readonly team_id: string;
  readonly api_url: string;
}

export interface SlackSecrets {
  readonly bot_token: string;
  readonly signing_secret: string;
}

const timeout_ms = 10_000;
const answer_bytes_max = 262_144;

/** `error` is Slack's code, or null if there was no usable answer. `text` is a sentence for people. */
export type SlackAnswer =
  | { readonly ok: true; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: string | null; readonly text: string };

const advice: Readonly<Record<string, string>> = {
  invalid_auth: "Slack does not accept the bot token.",
  not_authed: "Slack does not accept the bot token.",
  account_inactive: "The bot token was revoked. Install the app again.",
  token_revoked: "The bot token was revoked. Install the app again.",
  missing_scope: "The app lacks the scope chat:write. Add it, then install the app again.",
  not_in_channel: "The app is not in the channel. Type /invite and the app's name in the channel.",
  channel_not_found: "Slack knows no such channel, or the app is not in it. Check the id, and invite the app.",
  is_archived: "The channel is archived.",
};

/** Calls one method of Slack's Web API. Never rejects. */
export async function callSlack(
  { httpOut }: Pick<Runtime, "httpOut">,
  api_url: string,
  bot_token: string,
  method: string,
  body: object,
): Promise<SlackAnswer> {
  const headers = { Authorization: `Bearer ${bot_token}`, "Content-Type": "application/json; charset=utf-8" };
  const terms = { timeout_ms, answer_bytes_max };
  const answered = await httpOut.ask(`${api_url}/${method}`, headers, JSON.stringify(body), terms);
  if ("failed" in answered) return { ok: false, error: null, text: answered.text };
  const fields = fieldsOf(answered.body);
  if (fields?.["ok"] === true) return { ok: true, fields };
  const given = fields?.["error"];
  const error = typeof given === "string" && /^[a-z_]{1,60}$/.test(given) ? given : null;
  const plain = error === null ? `Slack answered with status ${answered.status}.` : `Slack answered: ${error}.`;
  return { ok: false, error, text: advice[error ?? ""] ?? plain };
}

function fieldsOf(body: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
