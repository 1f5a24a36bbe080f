import type { Escalation } from "@countersign/contract";
import { expect, test } from "vitest";
import type { ShownReview } from "./review-words.ts";
import { slackCard } from "./slack-card.ts";
import { teamsCard } from "./teams-card.ts";

function review(change: Partial<ShownReview> = {}, record: object = {}): ShownReview {
  const escalation = {
    escalation_id: "esc_1",
    agent_id: "support-bot",
    status: "pending",
    reason: "The amount is above 500 USD.",
    panels: [{ policy: "large-refunds" }],
    quorum: { required: 1, approvals: 0, rejections: 0 },
    votes: [],
    resolution: null,
    expires_at: "2026-01-31T10:00:00.123456Z",
    action: {
      type: "payment.refund",
      verb: "refund",
      target: { type: "customer", identifier: "cus_1" },
      summary: "A refund",
    },
    ...record,
  } as unknown as Escalation;
  const url = "https://countersign.example/escalations/esc_1";
  return { escalation, content: { amount: 740 }, withheld: [], changes: 0, nameOf: (id) => id, url, ...change };
}

const actionsOf = ({ blocks }: ReturnType<typeof slackCard>) =>
  ((blocks.at(-1)?.["elements"] ?? []) as { action_id: string }[]).map(({ action_id }) => action_id);

test("texts of agents are plain text in Slack, so they form no mention, link or markup, and hide nothing", () => {
  const hostile = "<!channel> *now* <https://evil.example|ok> \u202egnp";
  const action = { type: "a.b", verb: hostile, target: null, summary: hostile };
  const card = slackCard(review({ content: { text: hostile } }, { agent_id: hostile, action }));
  const texts = JSON.stringify(card.blocks);
  expect(texts).not.toContain('"mrkdwn"');
  expect(texts).not.toContain("\u202e");
  expect(texts).toContain("u{202e}");
  expect(card.text).toContain("&lt;!channel&gt;");
  expect(card.text).not.toContain("<");
});

test("markup in texts of agents is escaped in Teams", () => {
  const action = { type: "a.b", verb: "pay", target: null, summary: "[Approved](https://evil.example) **done**" };
  const text = JSON.stringify(teamsCard(review({}, { action })));
  expect(text).toContain(String.raw`\\[Approved\\]\\(https://evil\\.example\\) \\*\\*done\\*\\*`);
});

test.each([
  ["long content", { content: { text: "x".repeat(3_000) } }, "characters of the content"],
  ["hidden values", { withheld: ["/payload/content/iban"] }, "1 hidden value"],
  ["changes by rules", { changes: 2 }, "2 changes of the action"],
])("a card with %s has no button that approves, and says so", (_, change, said) => {
  expect(actionsOf(slackCard(review()))).toEqual(["review_approve", "review_change", "review_block"]);
  const card = slackCard(review(change));
  expect(actionsOf(card)).toEqual(["review_change", "review_block"]);
  expect(JSON.stringify(card)).toContain(said);
});

test("a card of a review that people confirm has only the link to its page", () => {
  const panels = [{ policy: "large-refunds" }, { policy: "wires", confirm: "totp" }];
  expect(actionsOf(slackCard(review({}, { panels })))).toEqual(["review_change"]);
});

test("a long summary or target leaves no button that approves", () => {
  const action = { type: "a.b", verb: "pay", target: { identifier: "x".repeat(400) }, summary: null };
  expect(actionsOf(slackCard(review({}, { action })))).toEqual(["review_change", "review_block"]);
});

test.each([
  [{ status: "decided", resolution: { outcome: "approve", by: "ann" } }, "ann approved the action."],
  [{ status: "decided", resolution: { outcome: "block", by: "ann" } }, "ann blocked the action."],
  [{ status: "timed_out", resolution: { outcome: "block", by: null } }, "The time is over, so the action was blocked."],
  [{ status: "cancelled", resolution: null }, "The review was cancelled, so the action stays blocked."],
  [{ status: "cancelled", resolution: null, withdrawn_by: "key_1" }, "The agent withdrew the action."],
])("a review that is over says how it ended and has no buttons that vote (%#)", (record, said) => {
  const card = slackCard(review({}, record));
  expect(JSON.stringify(card.blocks)).toContain(said);
  expect(actionsOf(card)).toEqual(["review_change"]);
});
