/**
 * Finds names of the action that look like known ones (docs/decisions/0042-look-alike-names.md). A *reading* has known
 * names in their place. A policy that votes differently on a reading is unknown.
 */
import type { Cause } from "@countersign/cel";
import { look_alike_reason, type Reason } from "@countersign/contract";
import { differencesText } from "../names/differences.ts";
import type { KnownNamesByKind, Likeness } from "../names/known-names.ts";
import { lookAlikeCause } from "../names/look-alike-cause.ts";
import type { NameKind } from "../names/policy-names.ts";
import { clipMessage } from "../policy/message.ts";
import { clipText } from "../values/clip-text.ts";
import { withoutTexts } from "../values/redacted-texts.ts";
import type { DecidableIntent, DecideInput } from "./decision.ts";

export interface LookAlike extends Likeness {
  readonly kind: NameKind;
  /** Path of the name in expressions. */
  readonly path: string;
  readonly given: string;
}

export interface NameReading {
  readonly intent: DecidableIntent;
  readonly causes: readonly Cause[];
}

const none: readonly never[] = Object.freeze([]);

/** Target members that expressions compare with names. */
const targetNames = ["type", "identifier", "sensitivity"] as const;

export function lookAlikesOf({ agent, action }: DecidableIntent, names: KnownNamesByKind): readonly LookAlike[] {
  const verbs = names.verb.like(action.verb);
  const agents = names.agent.like(agent.id);
  const targets = names.target.is_empty || action.target === undefined ? none : targetsOf(action.target, names);
  if (verbs.length === 0 && agents.length === 0 && targets.length === 0) return none;
  return [
    ...verbs.map((each) => ({ ...each, kind: "verb" as const, path: "action.verb", given: action.verb })),
    ...agents.map((each) => ({ ...each, kind: "agent" as const, path: "agent.id", given: agent.id })),
    ...targets,
  ];
}

function targetsOf(target: Readonly<Record<string, unknown>>, names: KnownNamesByKind): LookAlike[] {
  return targetNames.flatMap((member) => {
    const given = target[member];
    if (typeof given !== "string") return [];
    return names.target
      .like(given)
      .map((each) => ({ ...each, kind: "target" as const, path: `target.${member}`, given }));
  });
}

const readings_max = 32;

/**
 * Returns the readings other than the written one, fewest replacements first. Null if there are more than
 * `readings_max`.
 */
export function readingsOf(intent: DecidableIntent, look_alikes: readonly LookAlike[]): readonly NameReading[] | null {
  let chosen: readonly (readonly LookAlike[])[] = [[]];
  for (const path of new Set(look_alikes.map((each) => each.path))) {
    const here = look_alikes.filter((each) => each.path === path);
    chosen = [...chosen, ...chosen.flatMap((before) => here.map((each) => [...before, each]))];
    if (chosen.length > readings_max) return null;
  }
  return chosen
    .filter((each) => each.length > 0)
    .sort((a, b) => a.length - b.length)
    .map((each) => ({ intent: each.reduce(withName, intent), causes: each.map(causeOf) }));
}

function withName(intent: DecidableIntent, { kind, path, known }: LookAlike): DecidableIntent {
  const { agent, action } = intent;
  if (kind === "agent") return { ...intent, agent: { ...agent, id: known } };
  if (kind === "verb") return { ...intent, action: { ...action, verb: known } };
  return { ...intent, action: { ...action, target: { ...action.target, [path.slice("target.".length)]: known } } };
}

function causeOf({ path, known }: LookAlike): Cause {
  return lookAlikeCause(path, known);
}

export interface ReportedLookAlike extends Pick<LookAlike, "kind" | "given" | "known"> {
  readonly known_by: "rules" | "facts";
}

/**
 * Reports look-alikes of names in `match` or the catalogue, of names that made a vote unknown (`causes`), and of agents
 * with stored facts. Other texts in expressions may not be names.
 */
export function reported(
  look_alikes: readonly LookAlike[],
  causes: readonly Cause[],
  { intent, agents_with_facts }: Pick<DecideInput, "intent" | "agents_with_facts">,
): readonly ReportedLookAlike[] {
  const by_facts = agents_with_facts?.like(intent.agent.id) ?? none;
  if (look_alikes.length === 0 && by_facts.length === 0) return none;
  const by_rules = look_alikes.filter((each) => {
    const { path, reason } = causeOf(each);
    return each.is_named || causes.some((cause) => cause.path === path && cause.reason === reason);
  });
  const isReported = (known: string): boolean => by_rules.some((each) => each.kind === "agent" && each.known === known);
  const agent = { kind: "agent", given: intent.agent.id, known_by: "facts" } as const;
  return [
    ...by_rules.map((each) => ({ ...each, known_by: "rules" as const })),
    ...by_facts.flatMap(({ known }) => (isReported(known) ? [] : [{ ...agent, known }])),
  ];
}

/** Targets may have thousands of characters. */
const name_chars_max = 256;

const kindWords: Readonly<Record<NameKind, string>> = { verb: "verb", agent: "agent id", target: "target" };

export function lookAlikeReason(
  { kind, given, known, known_by }: ReportedLookAlike,
  redacted: readonly string[],
): Reason {
  const [shown, of] = [clipText(given, name_chars_max), clipText(known, name_chars_max)];
  const so =
    known_by === "facts"
      ? `The stored facts of "${of}" do not count for it.`
      : `Rules about "${of}" are not established.`;
  const message = `The ${kindWords[kind]} "${shown}" looks like the known "${of}", but is another name: ${differencesText(given, known)}. ${so}`;
  return {
    ...{ policy_id: null, policy: look_alike_reason, version: null, effect: "none" },
    ...{ message: clipMessage(withoutTexts(message, redacted)), citations: [], unknown_facts: [] },
  };
}
