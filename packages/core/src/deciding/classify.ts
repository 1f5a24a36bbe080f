import { type CatalogueEntry, foldName, unclassified_action_type } from "@countersign/contract";
import type { ActionKey } from "../policy/action-index.ts";
import type { Content, DecidableIntent, DecideInput } from "./decision.ts";
import { type LookAlike, lookAlikesOf } from "./look-alikes.ts";
import type { ParameterTypes } from "./parameter-types.ts";
import type { PreparedMembrane } from "./policy-set.ts";

/** The type and data classes that a decision uses for an action. */
export interface ActionClass {
  readonly type: string;
  readonly data_classes: readonly string[];
}

/** The submitted action in the terms that policies match. */
interface Action {
  /** The catalogue and age limits of the membrane, prepared for the policy set. */
  readonly prepared: PreparedMembrane;
  readonly decided_as: ActionClass;
  /** The values that a policy's `match` is compared with. */
  readonly key: ActionKey;
  /** Names of the action that only look like names of live policies or of the catalogue; mostly none. */
  readonly look_alikes: readonly LookAlike[];
  /** payload.content as policies see it; null without content. */
  readonly content: Content | null;
  /** The recorded types of the tool's parameters; null: none are recorded. */
  readonly parameters: ParameterTypes | null;
  /** Names that a person's override covers: policy ids, `default_verdict_name` and `risk_threshold_name`. */
  readonly overrides: ReadonlySet<string>;
}

/** The record after `classify`. */
export interface Classified {
  readonly input: DecideInput;
  readonly action: Action;
}

/** The field of payload.content that claims a review. Only the service or a role that may attest makes this claim. */
export const attested_claim = "human_reviewed";

const none: readonly string[] = Object.freeze([]);
const noOverrides: ReadonlySet<string> = new Set();

/** Stage 1: names the action in the terms that policies match, and removes a claim of a review that nobody attested. */
export function classify(input: DecideInput): Classified {
  const { intent, overrides } = input;
  const prepared = input.policySet.prepare(input.membrane);
  const decided_as = classifyAction(intent, prepared.catalogue);
  const verb = foldName(intent.action.verb);
  const action = {
    prepared,
    decided_as,
    key: { type: decided_as.type, verb, agent_id: foldName(intent.agent.id) },
    look_alikes: lookAlikesOf(intent, prepared.names.live),
    content: trustedContent(input),
    parameters: prepared.parameters.get(verb) ?? null,
    overrides: overrides === undefined || overrides.length === 0 ? noOverrides : new Set(overrides),
  };
  return { input, action };
}

/**
 * Returns the type and data classes of an action. A catalogue entry for the verb replaces the declared type, so that an agent
 * cannot relabel a wire transfer. The keys of the catalogue are folded verbs. An entry without data classes keeps the declared ones. Names are lower-cased, and data
 * classes trimmed, so that no spelling avoids a policy.
 */
export function classifyAction(
  intent: Pick<DecidableIntent, "action" | "data_classes">,
  catalogue: ReadonlyMap<string, CatalogueEntry>,
): ActionClass {
  const entry = catalogue.get(foldName(intent.action.verb));
  const type = entry?.type ?? intent.action.type ?? unclassified_action_type;
  const classes = entry === undefined || entry.data_classes.length === 0 ? intent.data_classes : entry.data_classes;
  return { type: type.toLowerCase(), data_classes: classes?.map((name) => name.trim().toLowerCase()) ?? none };
}

/**
 * Returns payload.content with a claim of a review that policies may trust. If a person reviewed the action in the service, the
 * claim is true. Otherwise the submitter's claim stays only if the submitter may attest.
 */
function trustedContent(input: DecideInput): Content | null {
  const content = input.intent.payload?.content ?? null;
  if (input.human_reviewed === true) return { ...content, [attested_claim]: true };
  if (content === null || input.attested === true || !Object.hasOwn(content, attested_claim)) return content;
  const { [attested_claim]: _, ...rest } = content;
  return rest;
}
