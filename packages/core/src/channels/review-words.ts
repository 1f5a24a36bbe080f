/** Words a message about a review, for every chat. */
import { type Escalation, hiddenCharacter } from "@countersign/contract";
import { clipText } from "../values/clip-text.ts";

/** A review as a person may see it. */
export interface ShownReview {
  readonly escalation: Escalation;
  /** `payload.content` without what is hidden from people. Undefined: the action has none. */
  readonly content: unknown;
  /** Places of the action that are hidden from people. */
  readonly withheld: readonly string[];
  /** Number of changes that rules or reviewers made to the action. */
  readonly changes: number;
  /** Returns the address of a person, or the id. */
  readonly nameOf: (person: string) => string;
  readonly url: string;
}

export interface ReviewWords {
  readonly title: string;
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  readonly summary: string | null;
  readonly reason: string;
  /** Null: there is no content. */
  readonly content: string | null;
  /** Names in a sentence the parts that the message omits. Null: it shows everything. */
  readonly not_shown: string | null;
  readonly state: string;
  readonly is_open: boolean;
  /** People confirm each ruling, which a chat cannot. */
  readonly is_confirmed: boolean;
}

const content_chars_max = 2_500;
const value_chars_max = 300;
const title_chars_max = 140;

const hidden = new RegExp(hiddenCharacter, "gu");

/** Writes hidden and control characters as their code points, so that a message hides nothing. */
function visibleText(text: string): string {
  return text
    .replaceAll("\r", "\\u{d}")
    .replaceAll(hidden, (character) =>
      character === "\n" || character === "\t" ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
    );
}

function clipped(text: string, chars_max: number): string {
  const visible = visibleText(text);
  return visible.length > chars_max ? `${clipText(visible, chars_max - 1)}…` : visible;
}

export function reviewWords(review: ShownReview): ReviewWords {
  const { escalation, content, withheld, changes } = review;
  const { agent_id, action, expires_at, panels, reason, status } = escalation;
  const is_open = status === "pending";
  const written = content === undefined ? null : visibleText(JSON.stringify(content, null, 2));
  const cut = written === null ? 0 : Math.max(0, written.length - content_chars_max);
  const rules = panels.map(({ policy }) => policy).join(", ");
  const { target, summary } = action;
  const facts = [
    { name: "Agent", value: agent_id },
    { name: "Action", value: `${action.verb} (${action.type})` },
    ...(target === null ? [] : [{ name: "Target", value: targetText(target) }]),
    { name: panels.length === 1 ? "Rule" : "Rules", value: rules },
    ...(is_open ? [{ name: "Decide before", value: `${expires_at.slice(0, 16).replace("T", " ")} UTC` }] : []),
  ].map(({ name, value }) => ({ name, value: clipped(value, value_chars_max) }));
  const shortened =
    facts.some(({ value }) => value.length >= value_chars_max) || (summary ?? "").length > value_chars_max;
  return {
    title: clipped(`${agent_id}: ${action.verb}`, title_chars_max),
    facts,
    summary: summary === null ? null : clipped(summary, value_chars_max),
    reason: clipped(reason, value_chars_max),
    content: written === null ? null : cut > 0 ? `${clipText(written, content_chars_max)}…` : written,
    not_shown: notShown({ cut, withheld: withheld.length, changes, shortened }),
    state: stateText(review),
    is_open,
    is_confirmed: panels.some(({ confirm }) => confirm !== undefined),
  };
}

function targetText(target: NonNullable<Escalation["action"]["target"]>): string {
  return Object.values(target)
    .filter((part) => typeof part === "string")
    .join(" ");
}

function notShown(of: {
  readonly cut: number;
  readonly withheld: number;
  readonly changes: number;
  readonly shortened: boolean;
}): string | null {
  const counted = (count: number, one: string, many: string) =>
    count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  const parts = [
    ...counted(of.cut, "character of the content", "characters of the content"),
    ...counted(of.withheld, "hidden value", "hidden values"),
    ...counted(of.changes, "change of the action", "changes of the action"),
    ...(of.shortened ? ["the rest of a long text"] : []),
  ];
  return parts.length === 0 ? null : `This message does not show ${parts.join(", ")}.`;
}

const verbs = { approve: "approved", approve_modified: "approved with changes", block: "blocked" } as const;

function stateText({ escalation, nameOf }: ShownReview): string {
  const { status, resolution, votes, quorum, withdrawn_by, erased } = escalation;
  if (erased !== undefined) return "The content of this review was erased.";
  if (status === "pending") {
    if (votes.length === 0) return "Nobody has voted yet.";
    const said = votes.map(({ reviewer, outcome }) => `${nameOf(reviewer)} ${verbs[outcome]}`).join(", ");
    return visibleText(`${quorum.approvals} of ${quorum.required} approvals. So far: ${said}.`);
  }
  if (withdrawn_by !== undefined) return "The agent withdrew the action.";
  if (status === "cancelled") return "The review was cancelled, so the action stays blocked.";
  const outcome = verbs[resolution?.outcome ?? "block"];
  if (status === "timed_out") return `The time is over, so the action was ${outcome}.`;
  return visibleText(`${nameOf(resolution?.by ?? "")} ${outcome} the action.`);
}
