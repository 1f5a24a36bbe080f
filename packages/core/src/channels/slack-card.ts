/** Slack's Block Kit. Texts of agents are `plain_text` only, which Slack does not read as mentions or links. */
import { type ReviewWords, reviewWords, type ShownReview } from "./review-words.ts";

interface SlackMessage {
  /** For notifications and screen readers. */
  readonly text: string;
  readonly blocks: readonly Readonly<Record<string, unknown>>[];
}

const plain = (text: string) => ({ type: "plain_text", text, emoji: false });
const section = (text: string) => ({ type: "section", text: plain(text) });

/** Slack reads `text` as its markup. Source: docs.slack.dev, "Formatting message text". */
export function slackEscaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export const slackActions = { approve: "review_approve", change: "review_change", block: "review_block" } as const;

/**
 * Returns the card of a review. An open one has buttons. Without the whole action on the card there is no button that
 * approves, because nobody should approve what the card does not show. Where people confirm each ruling, only the page
 * decides.
 */
export function slackCard(review: ShownReview): SlackMessage {
  const words = reviewWords(review);
  const { title, facts, summary, reason, content, not_shown, state, is_open } = words;
  return {
    text: slackEscaped(is_open ? `A review waits: ${title}` : `${title}. ${state}`),
    blocks: [
      { type: "header", text: plain(title) },
      { type: "section", fields: facts.map(({ name, value }) => plain(`${name}\n${value}`)) },
      ...(summary === null ? [] : [section(summary)]),
      ...(is_open ? [section(`Why it waits: ${reason}`)] : []),
      ...(is_open && content !== null ? [section(content)] : []),
      { type: "context", elements: [plain(is_open && not_shown !== null ? `${state} ${not_shown}` : state)] },
      { type: "actions", block_id: "review", elements: buttons(review, words) },
    ],
  };
}

function buttons({ escalation, url }: ShownReview, { title, not_shown, is_open, is_confirmed, facts }: ReviewWords) {
  const value = escalation.escalation_id;
  const open = (text: string) => ({ type: "button", action_id: slackActions.change, text: plain(text), url });
  if (!is_open) return [open("Open the review")];
  if (is_confirmed) return [open("Open to decide and confirm")];
  const target = facts.find(({ name }) => name === "Target");
  const about = target === undefined ? title : `${title}, ${target.value}`;
  const ruling = (outcome: "approve" | "block", text: string, style: string) => ({
    type: "button",
    action_id: slackActions[outcome],
    text: plain(text),
    style,
    value,
    confirm: {
      title: plain(`${text} this action?`),
      text: plain(about.slice(0, 300)),
      confirm: plain(text),
      deny: plain("Back"),
    },
  });
  return [
    ...(not_shown === null ? [ruling("approve", "Approve", "primary")] : []),
    open(not_shown === null ? "With changes" : "Open to approve"),
    ruling("block", "Block", "danger"),
  ];
}
