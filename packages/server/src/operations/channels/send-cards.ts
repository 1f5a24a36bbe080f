import { type ShownReview, slackCard, teamsCard } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { channelContext, readChannel } from "../../store/channels/channels.ts";
import { claimCards, type DueCard, deleteCard, noteCardSent, putOffCard } from "../../store/channels/review-cards.ts";
import { readReview } from "../../store/escalations/escalations.ts";
import { readIntent } from "../../store/intents/intents.ts";
import { readPerson } from "../../store/people/people.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { actionForPeople } from "../intents/read-intents.ts";
import { standingReview } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import { slackSecrets } from "./connect-slack.ts";
import { postToTeams } from "./connect-teams.ts";
import { callSlack, type SlackSettings } from "./slack-api.ts";

type CardSending = Pick<Runtime, "db" | "log" | "settings" | "sealer" | "httpOut">;

/** Slack takes about one message a second for a channel. One look every 5 s sends these for each organization. */
const each_max = 5;
/** Longer than the calls of one pass. */
const lease_seconds = 120;
/** Waits after failed attempts. Then the card is given up. */
const waits_seconds = [10, 60, 300, 1_800] as const;
/** The message cannot be changed any more, for example because somebody deleted it. */
const finalErrors: ReadonlySet<string | null> = new Set([
  "message_not_found",
  "cant_update_message",
  "edit_window_closed",
  "is_archived",
]);

/**
 * Posts cards of new reviews and updates those whose review changed. A card shows the state that it reads last, so the
 * order of changes does not matter. At least once: a node that dies before it stores the result posts a card again.
 */
export async function sendCards(runtime: CardSending): Promise<void> {
  const due = await runtime.db.system((query) => claimCards(query, lease_seconds, each_max));
  await Promise.all([...byOrganization(due)].map(([, cards]) => sendInOrder(runtime, cards)));
}

async function sendInOrder(runtime: CardSending, cards: readonly DueCard[]): Promise<void> {
  for (const card of cards) {
    try {
      await sendOne(runtime, card);
    } catch (error) {
      runtime.log.warn({ err: error, org_id: card.org_id, channel: card.channel }, "a card could not be sent");
      await runtime.db.tenant(card.org_id, (query) => putOffOrGiveUp(query, card));
    }
  }
}

async function sendOne(runtime: CardSending, card: DueCard): Promise<void> {
  const { org_id, channel, message } = card;
  const review = await runtime.db.tenant(org_id, (query) => shownReview(runtime, query, card));
  const is_over = review === null || review.escalation.status !== "pending";
  // Nobody needs to learn of a review that is over.
  if (review === null || (is_over && message === null))
    return runtime.db.tenant(org_id, (query) => deleteCard(query, card));
  const sent =
    channel === "slack" ? await sendToSlack(runtime, card, review) : await sendToTeams(runtime, card, review);
  await runtime.db.tenant(org_id, async (query) => {
    if (sent === "gone" || (is_over && sent !== "failed")) return deleteCard(query, card);
    if (sent === "failed") return putOffOrGiveUp(query, card);
    return noteCardSent(query, card, sent);
  });
}

/** Null: the review does not exist. */
async function shownReview(
  { settings }: Pick<Runtime, "settings">,
  query: Query,
  { org_id, escalation_id }: DueCard,
): Promise<ShownReview | null> {
  const stored = await readReview(query, org_id, escalation_id);
  const action = stored && (await readIntent(query, org_id, stored.record.intent_id));
  if (stored === undefined || action === undefined) return null;
  const { review } = await standingReview(query, org_id, stored, await databaseNow(query));
  const { payload, withheld } = actionForPeople(action);
  const people = [
    ...new Set([...review.record.votes.map(({ reviewer }) => reviewer), review.record.resolution?.by ?? ""]),
  ];
  const names = new Map<string, string>();
  for (const id of people) {
    const person = await readPerson(query, org_id, id);
    names.set(id, person?.name ?? person?.email ?? id);
  }
  return {
    escalation: review.record,
    content: payload?.content,
    withheld,
    changes: (review.ruling?.modifications ?? action.decision.modifications).length,
    nameOf: (id) => names.get(id) ?? id,
    url: `${settings.public_url()}/escalations/${escalation_id}`,
  };
}

type Sent = { readonly channel: string; readonly ts: string } | "failed" | "gone";

async function sendToSlack(runtime: CardSending, { org_id, message }: DueCard, review: ShownReview): Promise<Sent> {
  const channel = await runtime.db.tenant(org_id, (query) => readChannel<SlackSettings>(query, org_id, "slack"));
  if (channel === undefined) return "gone";
  const { api_url, channel_id } = channel.settings;
  const { bot_token } = slackSecrets(runtime, channel);
  const card = slackCard(review);
  const answer =
    message === null
      ? await callSlack(runtime, api_url, bot_token, "chat.postMessage", {
          channel: channel_id,
          ...card,
          unfurl_links: false,
          unfurl_media: false,
        })
      : await callSlack(runtime, api_url, bot_token, "chat.update", { ...message, ...card });
  if (!answer.ok) {
    runtime.log.warn({ org_id, slack_error: answer.error, text: answer.text }, "Slack did not accept a card");
    return message !== null && finalErrors.has(answer.error) ? "gone" : "failed";
  }
  const { channel: at = channel_id, ts } = answer.fields;
  return typeof ts === "string" ? { channel: String(at), ts } : "failed";
}

/** A workflow's webhook returns no message, so a card of Teams is posted once. */
async function sendToTeams(runtime: CardSending, { org_id }: DueCard, review: ShownReview): Promise<Sent> {
  const channel = await runtime.db.tenant(org_id, (query) => readChannel(query, org_id, "teams"));
  if (channel === undefined) return "gone";
  const address = runtime.sealer.open(channel.secret_sealed, channelContext(org_id, "teams"));
  const failed = await postToTeams(runtime, address, teamsCard(review));
  if (failed === null) return "gone";
  runtime.log.warn({ org_id, error: failed }, "Teams did not accept a card");
  return "failed";
}

async function putOffOrGiveUp(query: Query, card: DueCard): Promise<void> {
  const wait_seconds = waits_seconds[card.attempts];
  await (wait_seconds === undefined ? deleteCard(query, card) : putOffCard(query, card, wait_seconds));
}
