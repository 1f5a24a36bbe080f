/** Slack's Web API and the requests that Slack sends, as its documentation describes them. */
import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { call } from "../nodes/http-node.ts";
import { type Received, testReceiver } from "./receiver.ts";

export const bot_token = "xoxb-1234-test";
export const signing_secret = "8f742231b10e8888abcd99yyyzzz85a5";
export const team_id = "T0001";
export const channel_id = "C0123ABCD";

export interface PostedMessage {
  readonly channel: string;
  readonly text: string;
  readonly blocks?: readonly { readonly type: string; readonly elements?: readonly Record<string, unknown>[] }[];
}

export async function slackServer() {
  /** By `ts`, as they are now. */
  const messages = new Map<string, PostedMessage>();
  /** Sent to a `response_url`. */
  const replies: { readonly text: string; readonly response_type: string; readonly replace_original: boolean }[] = [];
  const updates: string[] = [];
  let ts = 0;
  let refusing: string | null = null;

  function answerTo({ path, headers, body }: Received): object {
    if (path === "/reply") {
      replies.push(JSON.parse(body));
      return { ok: true };
    }
    if (headers.authorization !== `Bearer ${bot_token}`) return { ok: false, error: "invalid_auth" };
    if (path === "/api/auth.test") return { ok: true, team_id, user_id: "U0BOT" };
    if (refusing !== null) return { ok: false, error: refusing };
    const { ts: of, ...message } = JSON.parse(body) as PostedMessage & { ts?: string };
    if (message.channel !== channel_id) return { ok: false, error: "channel_not_found" };
    if (path === "/api/chat.postMessage") {
      ts += 1;
      const posted = `1700000000.${String(ts).padStart(6, "0")}`;
      messages.set(posted, message);
      return { ok: true, channel: channel_id, ts: posted };
    }
    if (path !== "/api/chat.update" || of === undefined || !messages.has(of))
      return { ok: false, error: "message_not_found" };
    messages.set(of, message);
    updates.push(of);
    return { ok: true, channel: channel_id, ts: of };
  }
  const receiver = await testReceiver((response, received) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answerTo(received)));
  });
  const origin = new URL(receiver.url).origin;
  return {
    api_url: `${origin}/api`,
    reply_url: `${origin}/reply`,
    messages,
    replies,
    updates,
    refuse: (error: string | null) => {
      refusing = error;
    },
    /** Texts of all parts of the newest message whose text matches. */
    async card(pattern: RegExp): Promise<{ readonly ts: string; readonly whole: string; readonly buttons: string[] }> {
      const find = () => [...messages].findLast(([, { text }]) => pattern.test(text));
      await expect.poll(find, { timeout: 30_000 }).toBeDefined();
      const [of, message] = find() as [string, PostedMessage];
      const elements = (message.blocks ?? [])
        .filter(({ type }) => type === "actions")
        .flatMap((block) => block.elements ?? []);
      return { ts: of, whole: JSON.stringify(message), buttons: elements.map((each) => String(each["action_id"])) };
    },
  };
}

/** A request as Slack signs it. `at_seconds` is the time in the header. */
export function signedBySlack(body: string, at_seconds: number, secret = signing_secret): Record<string, string> {
  const base = `v0:${at_seconds}:${body}`;
  return {
    "Content-Type": "application/x-www-form-urlencoded",
    "X-Slack-Request-Timestamp": String(at_seconds),
    "X-Slack-Signature": `v0=${createHmac("sha256", secret).update(base).digest("hex")}`,
  };
}

export function clickBody(
  user: string,
  outcome: "approve" | "block",
  escalation_id: string,
  response_url: string,
): string {
  const payload = {
    type: "block_actions",
    team: { id: team_id, domain: "acme" },
    user: { id: user, username: "ann", team_id },
    api_app_id: "A0001",
    container: { type: "message", message_ts: "1700000000.000001", channel_id },
    trigger_id: "1.2.3",
    response_url,
    actions: [
      { type: "button", action_id: `review_${outcome}`, block_id: "review", value: escalation_id, action_ts: "1" },
    ],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}

export function commandBody(user: string, text: string): string {
  return new URLSearchParams({ command: "/countersign", text, team_id, user_id: user, response_url: "" }).toString();
}

export function sendAsSlack(base: string, org_id: string, body: string, headers: Record<string, string>) {
  return call(base, "POST", `/v1/channels/slack/${org_id}/requests`, { body, headers });
}
