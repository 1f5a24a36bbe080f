/** Keeps of erased documents: ids, numbers, names of rules and tools, and outcomes. See docs/decisions/0065-erasure.md. */
import type { Decision, Erased, Escalation } from "@countersign/contract";

type Json = Readonly<Record<string, unknown>>;

/** The parsed documents of a decision's entry. */
export interface DecidedDocuments {
  readonly intent: Json;
  readonly facts: Json;
  readonly data: Json;
}

export interface KeptDocuments {
  readonly erased: Erased;
  readonly intent?: Json;
  readonly facts?: Json;
  readonly data: Json;
}

function picked(from: unknown, members: readonly string[]): Json {
  if (typeof from !== "object" || from === null) return {};
  const source = from as Json;
  return Object.fromEntries(members.flatMap((name) => (Object.hasOwn(source, name) ? [[name, source[name]]] : [])));
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** In the order of a decision's text, because backtests read its end as text. */
const decisionMembers = [
  ...["decision_id", "intent_id", "membrane_id", "agent_id", "verdict", "risk_score", "risk_contributions"],
  ...["pipeline_mode", "enforced", "outcome", "status", "reasons", "modifications", "modified_content"],
  ...["would_approve_if", "human_override_id", "escalation_id", "escalation_status", "resumed_from", "grant_id"],
  ...["valid_until", "policy_set", "claim", "timestamp"],
];

/** Keeps what figures count: names of rules, and facts that were missing. */
function keptReason(reason: unknown): Json {
  const unknown_facts = listIn(picked(reason, ["unknown_facts"]).unknown_facts)
    .map((fact) => picked(fact, ["path", "reason"]))
    .filter(({ path }) => typeof path === "string" && path.startsWith("facts."));
  return {
    ...picked(reason, ["policy_id", "policy", "version", "effect"]),
    message: "",
    citations: [],
    unknown_facts,
  };
}

function keptAnswer(decision: Json): Json {
  const emptied = {
    ...decision,
    reasons: listIn(decision.reasons).map(keptReason),
    modifications: [],
    modified_content: null,
    would_approve_if: null,
  };
  return picked(emptied, decisionMembers);
}

/** Returns what remains of a decision: documents of the usual form, without what the action was about. */
export function keptDecision({ intent, facts, data }: DecidedDocuments, erased: Erased): KeptDocuments {
  const submitted = intent.submitted as Json | undefined;
  return {
    erased,
    intent: {
      submitted: { agent: picked(submitted?.agent, ["id"]), action: picked(submitted?.action, ["type", "verb"]) },
      decided_as: { ...picked(intent.decided_as, ["type"]), data_classes: [] },
      ...picked(intent, ["attested", "shadow", "rests", "adds"]),
    },
    facts: { origins: [], ...picked(facts, ["not_pulled"]) },
    data: keptAnswer(data),
  };
}

/** Members of audit data that are ids, numbers, times or words of the service. */
const changeMembers = [
  ...["escalation_id", "override_id", "decision_id", "observation_id", "grant_id", "delivery_id", "webhook_id"],
  ...["original_delivery_id", "event_type", "status", "outcome", "by", "person", "modifications", "self_reviewed"],
  ...["voided", "taken", "times", "times_used", "use", "expires_at", "membrane_id", "mode", "because", "is_right"],
  ...["handed_to", "nonce_sha256", "via", "user_id", "role", "invitation_id", "hold_id", "kind", "counts_of", "place"],
];

/** Returns what remains of an entry that is not a decision. Texts and lists of texts that people or agents wrote go. */
export function keptChange(data: Json, erased: Erased): KeptDocuments {
  const kept = picked(data, changeMembers);
  // Of a vote, `modifications` is a list of changes; of a closed review, their number.
  const { modifications, ...others } = kept;
  // Which rows the entry changed, without what is in them.
  const state = listIn(data.state).map((row) => picked(row, ["table", "id"]));
  return {
    erased,
    data: {
      ...others,
      ...(typeof modifications === "number" ? { modifications } : {}),
      ...(state.length === 0 ? {} : { state }),
    },
  };
}

/** Returns a review's record without content, comments, changes and amounts. */
export function keptReview(record: Escalation, erased: Erased): Escalation & { readonly erased: Erased } {
  const { amount_usd: _amount, comments: _comments, votes, resolution, action, ...others } = record;
  return {
    ...others,
    reason: "",
    // Nobody can tell whether the rules would still approve the action.
    on_timeout: "block",
    votes: votes.map(({ message_to_agent: _message, fast: _fast, ...vote }) => ({
      ...vote,
      comment: null,
      modifications: null,
    })),
    resolution:
      resolution === null
        ? null
        : { outcome: resolution.outcome, by: resolution.by, comment: null, modifications: [], at: resolution.at },
    action: { type: action.type, verb: action.verb, target: null, summary: null },
    erased,
  };
}

/** Returns what a closed review changed in its decision, without content. */
export function keptResolution(resolution: Partial<Decision>): Partial<Decision> {
  const { message_to_agent: _message, modified_content, modifications, ...others } = resolution;
  return {
    ...others,
    ...(modifications === undefined ? {} : { modifications: [] }),
    ...(modified_content === undefined ? {} : { modified_content: null }),
  };
}
