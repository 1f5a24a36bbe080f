import { finish } from "../policy/expressions.ts";
import { classifyTool, type Tool, type ToolAction } from "./classify-tool.ts";
import { waysToSupply } from "./missing-facts.ts";
import { type PackRecommendation, recommendPacks, type Situation } from "./recommend-packs.ts";
import { names } from "./words.ts";

export interface IntakeRequest extends Situation {
  readonly tools?: readonly Tool[] | undefined;
}

export interface IntakeAnswer {
  readonly recommended_packs: readonly PackRecommendation[];
  readonly action_catalogue: readonly Omit<ToolAction, "reads_third_party">[];
  readonly next_steps: readonly string[];
}

/**
 * Packs that quickstart enables for everybody. Not `account`: without account facts it blocks every payment, while
 * `security` only holds it.
 */
export const quickstartPacks = ["security", "meta"] as const;

/** The starting packs hold an action while one of these is missing. */
export const startingFacts = [
  "security.active_security_incident",
  "security.privilege_escalation_alert",
  "security.prompt_injection_detected",
] as const;

/** The pack `account` blocks a payment while one of these is missing. */
export const accountFacts = ["entity_state.account_balance_usd", "entity_state.account_status"] as const;

/** A person must confirm proposals below this confidence. */
export const confirm_below = 0.7;

const startingFactSteps = [
  `Supply these facts: ${names(startingFacts)} (true or false). ${waysToSupply} While one is missing, people decide about payments, ` +
    "exports, deletions, grants and changes of systems. If you cannot supply one, add the rules that ask for it to the membrane's " +
    "rules_off (PATCH /v1/membranes/{membrane_id}); GET /v1/overview names them.",
  `Switch on the pack account when you supply ${names(accountFacts)} and the parameter amount_usd. It is off, because ` +
    "it blocks every payment for which one of them is missing.",
];

/** Returns at least one step. */
export const packSteps = (packs: readonly PackRecommendation[]): string[] => {
  const always = `The packs ${names(quickstartPacks)} are on from the start.`;
  if (packs.length === 0) {
    return [
      `${always} Nothing in the description calls for another; GET /v1/packs lists them all.`,
      ...startingFactSteps,
    ];
  }
  return [
    always,
    ...startingFactSteps,
    ...packs.map(({ pack, because }) => `Switch on the pack ${pack}: ${because}`),
    "Have counsel review the packs: they are a starting point, not legal advice.",
  ];
};

type Proposed = Pick<ToolAction, "verb" | "confidence">;

/**
 * Returns the actions that need no confirmation. Entries override declarations, so a wrong entry would mislabel
 * actions.
 */
export const sureActions = <Action extends Proposed>(actions: readonly Action[]): Action[] =>
  actions.filter(({ confidence }) => confidence >= confirm_below);

/**
 * Returns the data classes that need no confirmation. Most tools have words of personal data, and an entry replaces the
 * classes that an agent declares. From such words alone, an agent's "phi" would be dropped.
 */
export const sureClasses = (data_classes: readonly string[]): readonly string[] =>
  data_classes.some((name) => name !== "personal") ? data_classes : [];

const unsureNames = (actions: readonly Proposed[]): string =>
  names(actions.filter(({ confidence }) => confidence < confirm_below).map(({ verb }) => verb));

/** Returns steps for the actions that a quickstart did not apply. Empty if all are sure. */
export const confirmSteps = (actions: readonly Proposed[]): string[] =>
  sureActions(actions).length === actions.length
    ? []
    : [
        `Add these tools to the membrane's action catalogue, because their names are ambiguous: ${unsureNames(actions)}.`,
      ];

/** A catalogue has one entry for a verb. If tools of one name differ, none of them is sure. */
const oneForEachVerb = (actions: readonly ToolAction[]): ToolAction[] => {
  const byVerb = new Map<string, ToolAction>();
  for (const action of actions) {
    const known = byVerb.get(action.verb);
    if (known === undefined) byVerb.set(action.verb, action);
    else if (known.type !== action.type) {
      const stricter = HARMLESS.has(known.type) ? action : known;
      const because = `${stricter.because} Another tool of this name does something else.`;
      byVerb.set(action.verb, { ...stricter, confidence: Math.min(stricter.confidence, 0.4), because });
    }
  }
  return [...byVerb.values()];
};
const HARMLESS = new Set(["data.read", "other.unclassified"]);

const toolSteps = (actions: readonly ToolAction[]): string[] => {
  if (actions.length === 0) return ["Send your tools (MCP tools/list) to intake to get an action catalogue."];
  const put =
    "Put verb, type, data_classes and parameters of each entry into your membrane's action_catalogue (PATCH /v1/membranes/{membrane_id}).";
  return sureActions(actions).length === actions.length
    ? [put]
    : [`Confirm what these tools do, because their names are ambiguous: ${unsureNames(actions)}.`, put];
};

/** Recommends packs and proposes an action catalogue, with the words that led to each. Deterministic, no network. */
export const intake = (request: IntakeRequest): IntakeAnswer => finish(intakeSteps(request));

/** Yields after each tool, because 1 MiB of tools takes half a second and anybody may send it. */
export function* intakeSteps(request: IntakeRequest): Generator<void, IntakeAnswer> {
  const classified: ToolAction[] = [];
  for (const tool of request.tools ?? []) {
    classified.push(classifyTool(tool));
    yield;
  }
  const actions = oneForEachVerb(classified);
  const recommended_packs = recommendPacks(request, actions);
  return {
    recommended_packs,
    action_catalogue: actions.map(({ reads_third_party: _, ...action }) => action),
    next_steps: [
      ...packSteps(recommended_packs),
      ...toolSteps(actions),
      "Watch decisions in shadow mode, then go live (POST /v1/membranes/{membrane_id}/go-live).",
    ],
  };
}
