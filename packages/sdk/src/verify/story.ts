/** Says in words what a verified receipt records. */
import { isObject, type JsonObject } from "./json.ts";
import type { VerifiedEntry } from "./receipt-form.ts";

const verdicts: Readonly<Record<string, string>> = {
  approve: "approved it",
  approve_modified: "approved it with changes",
  escalate: "held it for review",
  block: "blocked it",
};

const modes: Readonly<Record<string, string>> = {
  shadow: " in shadow mode, in which decisions are recorded and not enforced",
  test: " in test mode",
};

/** By type of the audit record (`auditTypes` of the contract). Other types are written as they are. */
const happenings: Readonly<Record<string, string>> = {
  voted: "a reviewer voted",
  commented: "a reviewer commented",
  review_taken: "a reviewer took the review, or gave it back",
  reassigned: "the review was handed to other reviewers",
  reviewed: "the review decided",
  timed_out: "the time of the review ran out",
  cancelled: "the review was cancelled",
  overridden: "a person approved the blocked action",
  override_revoked: "an override was withdrawn",
  granted: "a person allowed similar actions in advance",
  grant_used: "the action was approved by a grant",
  hold_labelled: "a person said whether it was right to hold the action",
  approval_handed_on: "the approval went to an equal action",
  approval_revoked: "the approval was revoked",
  claimed: "somebody claimed the action before carrying it out",
  observed: "the agent reported what it did",
  contradicted: "the report contradicts the decision",
};

/** Members of documents that say what happened, in the order of a sentence. */
const told = ["outcome", "status", "comment", "reason", "message_to_agent", "detail", "because"] as const;

/**
 * Returns sentences on what the entries record, in their order. Texts in them were written by agents and people: escape
 * them for the place where you show them.
 */
export function receiptStory(entries: readonly VerifiedEntry[]): string[] {
  return entries.flatMap((entry) => (entry.type === "decided" ? decisionStory(entry) : [changeStory(entry)]));
}

function decisionStory({ at, actor, leaf, documents }: VerifiedEntry): string[] {
  const { agent_id, verdict, mode, membrane_id } = leaf as Readonly<Record<string, string>>;
  const submitted = inside(documents["intent"], "submitted");
  const action = inside(submitted, "action");
  const target = inside(action, "target");
  const summary = textIn(inside(submitted, "payload"), "summary");
  const reasons = documents["data"]?.["reasons"];
  const messages = Array.isArray(reasons)
    ? reasons.flatMap((reason) => (isObject(reason) ? [textIn(reason, "message")] : []))
    : [];
  const wanted =
    action === undefined ? "an action, of which the receipt does not show the content" : actionText(action);
  const on = target === undefined ? "" : ` on ${textIn(target, "identifier") || textIn(target, "type")}`;
  return [
    `${at}: the agent "${agent_id}" asked for ${wanted}${on}. ${actor} submitted it.`,
    ...(summary === "" ? [] : [`The agent's summary: "${summary}"`]),
    `The service ${verdicts[verdict ?? ""] ?? `answered ${verdict}`}${modes[mode ?? ""] ?? ""}, by the rules of ${membrane_id}.`,
    ...messages.filter((message) => message !== "").map((message) => `A reason: ${message}`),
  ];
}

function changeStory({ type, at, actor, documents }: VerifiedEntry): string {
  const { data } = documents;
  const details = told.flatMap((name) => {
    const value = textIn(data, name);
    return value === "" ? [] : [`${name} ${JSON.stringify(value)}`];
  });
  const more = details.length === 0 ? "" : `: ${details.join(", ")}`;
  return `${at}: ${happenings[type] ?? type.replaceAll("_", " ")}${more}. By ${actor}.`;
}

function actionText(action: JsonObject): string {
  const [verb, type] = [textIn(action, "verb"), textIn(action, "type")];
  return type === "" ? `"${verb}"` : `"${verb}" (${type})`;
}

function inside(value: JsonObject | null | undefined, name: string): JsonObject | undefined {
  const member = value?.[name];
  return isObject(member) ? member : undefined;
}

function textIn(value: JsonObject | null | undefined, name: string): string {
  const member = value?.[name];
  return typeof member === "string" ? member : "";
}
