import { finish } from "../policy/expressions.ts";
import { classifyTool, type Tool, type ToolAction } from "./classify-tool.ts";
import { waysToSupply } from "./missing-facts.ts";
import { type PackRecommendation, recommendPacks, type Situation } from "./recommend-packs.ts";
import { names } from "./words.ts";

/** The body of `POST /v1/onboarding/intake`. */
export interface IntakeRequest extends Situation {
  readonly tools?: readonly Tool[] | undefined;
}

/** The answer of an intake, without its id. */
export interface IntakeAnswer {
  readonly recommended_packs: readonly PackRecommendation[];
  readonly action_catalogue: readonly Omit<ToolAction, "reads_third_party">[];
  readonly next_steps: readonly string[];
}

/**
 * Packs that quickstart switches on for everybody. The pack `account` is not one of them: without account facts it blocks every
 * payment. `security` holds such a payment, so an unknown does not pass. packs/README.md has the figures.
 */
export const quickstartPacks = ["security", "meta"] as const;

/** The facts for which the starting packs hold an action if they are missing. */
export const startingFacts = [
  "security.active_security_incident",
  "security.privilege_escalation_alert",
  "security.prompt_injection_detected",
] as const;

/** The facts without which the pack `account` blocks a payment. */
export const accountFacts = ["entity_state.account_balance_usd", "entity_state.account_status"] as const;

/** Below this confidence a proposed action type is for a person to confirm. */
export const confirm_below = 0.7;

const startingFactSteps = [
  `Supply these facts: ${names(startingFacts)} (true or false). ${waysToSupply} While one is missing, people decide about payments, ` +
    "exports, deletions, grants and changes of systems. If you cannot supply one, add the rules that ask for it to the membrane's " +
    "rules_off (PATCH /v1/membranes/{membrane_id}); GET /v1/overview names them.",
  `Switch on the pack account when you supply ${names(accountFacts)} and the parameter amount_usd. It is off, because ` +
    "it blocks every payment for which one of them is missing.",
];

/**
 * The next steps that follow from recommended packs: quickstart names them, whether or not intake was asked first.
 * Never empty.
 */
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

/** Returns the actions that need no confirmation. A wrong entry would mislabel actions, because entries override declarations. */
export const sureActions = <Action extends Proposed>(actions: readonly Action[]): Action[] =>
  actions.filter(({ confidence }) => confidence >= confirm_below);

/**
 * The data classes that may be applied without a person's word. Most tools have words of personal data, and the classes of an
 * entry stand in for those that an agent declares: from such words alone an agent's "phi" would be dropped.
 */
export const sureClasses = (data_classes: readonly string[]): readonly string[] =>
  data_classes.some((name) => name !== "personal") ? data_classes : [];

const unsureNames = (actions: readonly Proposed[]): string =>
  names(actions.filter(({ confidence }) => confidence < confirm_below).map(({ verb }) => verb));

/** The next steps of a quickstart that took over what of these is sure. Empty when all is. */
export const confirmSteps = (actions: readonly Proposed[]): string[] =>
  sureActions(actions).length === actions.length
    ? []
    : [
        `Say in the membrane's action catalogue what these tools do, their names do not say it surely: ${unsureNames(actions)}.`,
      ];

/** A catalogue has one entry for a verb. Where tools of one name do different things, none of them is sure. */
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
    : [`Confirm what these tools do, their names do not say it surely: ${unsureNames(actions)}.`, put];
};

/**
 * Recommends packs for a customer's description and proposes an action catalogue for the customer's tools. Every answer
 * has the words that led to it. Deterministic, no network.
 */
export const intake = (request: IntakeRequest): IntakeAnswer => finish(intakeSteps(request));

/** The same in steps, one for each tool: a MiB of them keeps a processor busy for half a second, and anybody may send it. */
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
