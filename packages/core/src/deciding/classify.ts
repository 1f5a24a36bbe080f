import { type CatalogueEntry, foldName, unclassified_action_type } from "@countersign/contract";
import type { ActionKey } from "../policy/action-index.ts";
import type { Content, DecidableIntent, DecideInput } from "./decision.ts";
import { type LookAlike, lookAlikesOf } from "./look-alikes.ts";
import type { ParameterTypes } from "./parameter-types.ts";
import type { PreparedMembrane } from "./policy-set.ts";

export interface ActionClass {
  readonly type: string;
  readonly data_classes: readonly string[];
}

interface Action {
  readonly prepared: PreparedMembrane;
  readonly decided_as: ActionClass;
  readonly key: ActionKey;
  /** Names that look like names in live policies or the catalogue. */
  readonly look_alikes: readonly LookAlike[];
  /** payload.content as policies see it. */
  readonly content: Content | null;
  /** Parameter types recorded by the catalogue. */
  readonly parameters: ParameterTypes | null;
  /** Policy ids, `default_verdict_name` or `risk_threshold_name`. */
  readonly overrides: ReadonlySet<string>;
}

export interface Classified {
  readonly input: DecideInput;
  readonly action: Action;
}

/** Claims a human review. Only the service or a role that may attest can set this field of payload.content. */
export const attested_claim = "human_reviewed";

const none: readonly string[] = Object.freeze([]);
const noOverrides: ReadonlySet<string> = new Set();

/** Stage 1: classifies the action and removes an unattested review claim. */
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
 * Returns the type and data classes to decide with. The catalogue entry of the verb replaces the declared type, so an
 * agent cannot relabel a wire transfer. An entry without data classes keeps the declared ones. Results are normalized,
 * so spelling cannot avoid a policy. Keys of `catalogue` are folded verbs.
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

/** Sets the review claim if a person reviewed the action here. Else removes it unless the submitter may attest. */
function trustedContent(input: DecideInput): Content | null {
  const content = input.intent.payload?.content ?? null;
  if (input.human_reviewed === true) return { ...content, [attested_claim]: true };
  if (content === null || input.attested === true || !Object.hasOwn(content, attested_claim)) return content;
  const { [attested_claim]: _, ...rest } = content;
  return rest;
}
