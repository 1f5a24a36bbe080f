/** Reads Slack's signed forms. Everything that Slack may send and that this service does not use is `other`. */
import { slackActions } from "./slack-card.ts";

export type SlackRequest =
  | {
      readonly kind: "vote";
      readonly account: SlackAccount;
      readonly escalation_id: string;
      readonly outcome: "approve" | "block";
      /** Slack posts what is sent there to the person. Null: it sent none. */
      readonly response_url: string | null;
    }
  | { readonly kind: "command"; readonly account: SlackAccount; readonly text: string }
  | { readonly kind: "other" };

export interface SlackAccount {
  readonly team_id: string;
  readonly chat_user_id: string;
}

type Fields = Readonly<Record<string, unknown>>;

const other = { kind: "other" } as const;
const id_chars_max = 40;

export function readSlackForm(body: string): SlackRequest {
  const form = new URLSearchParams(body);
  const payload = form.get("payload");
  if (payload !== null) return readPayload(payload);
  if (!form.has("command")) return other;
  const account = accountOf(form.get("team_id"), form.get("user_id"));
  return account === null ? other : { kind: "command", account, text: (form.get("text") ?? "").trim() };
}

function readPayload(text: string): SlackRequest {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return other;
  }
  if (!isFields(payload) || payload["type"] !== "block_actions" || !Array.isArray(payload["actions"])) return other;
  const { user, team, response_url } = payload as { user?: unknown; team?: unknown; response_url?: unknown };
  const action: unknown = payload["actions"][0];
  if (!isFields(user) || !isFields(action)) return other;
  const account = accountOf(user["team_id"] ?? (isFields(team) ? team["id"] : null), user["id"]);
  const outcome = outcomeOf(action["action_id"]);
  const escalation_id = action["value"];
  if (account === null || outcome === null || typeof escalation_id !== "string") return other;
  const answer_to = typeof response_url === "string" ? response_url : null;
  return { kind: "vote", account, outcome, escalation_id, response_url: answer_to };
}

function outcomeOf(action_id: unknown): "approve" | "block" | null {
  if (action_id === slackActions.approve) return "approve";
  return action_id === slackActions.block ? "block" : null;
}

function accountOf(team_id: unknown, chat_user_id: unknown): SlackAccount | null {
  const is_id = (value: unknown): value is string =>
    typeof value === "string" && value.length > 0 && value.length <= id_chars_max && /^\w+$/.test(value);
  return is_id(team_id) && is_id(chat_user_id) ? { team_id, chat_user_id } : null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
