/** An adaptive card in the envelope of Teams' workflow webhooks. */
import { reviewWords, type ShownReview } from "./review-words.ts";

const version = "1.4";

/** Markdown is on in text blocks, so its characters are escaped. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]()#+\-.!|<>~]/g, (character) => `\\${character}`);
}

export function teamsCard(review: ShownReview): Readonly<Record<string, unknown>> {
  const { title, facts, summary, reason } = reviewWords(review);
  const block = (text: string, more: object = {}) => ({ type: "TextBlock", text, wrap: true, ...more });
  return teamsMessage(
    [
      block(plain(title), { size: "Large", weight: "Bolder" }),
      { type: "FactSet", facts: facts.map(({ name, value }) => ({ title: name, value: plain(value) })) },
      ...(summary === null ? [] : [block(plain(summary))]),
      block(`Why it waits: ${plain(reason)}`),
    ],
    [{ type: "Action.OpenUrl", title: "Open the review", url: review.url }],
  );
}

export function teamsMessage(
  body: readonly Readonly<Record<string, unknown>>[],
  actions: readonly Readonly<Record<string, unknown>>[] = [],
): Readonly<Record<string, unknown>> {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version,
    body,
    actions,
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
  };
}
