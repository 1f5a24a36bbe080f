import { foldName } from "@countersign/contract";
import { fitsAction } from "../action-index.ts";
import type { PolicyDocument } from "../document.ts";
import { expressionsIn } from "../expressions-in.ts";
import { namesOf, nodesOf } from "../nodes-of.ts";

/** Type and data classes are the catalogue's. */
export interface WordedAction {
  readonly type: string;
  readonly data_classes: readonly string[];
  readonly verb: string;
}

export interface NamingRules {
  /** Rules without type, verb or data class. */
  readonly every_action: readonly string[];
  /** By action: the rules that match it for some agent and name its type, verb or a data class. */
  readonly naming: readonly (readonly string[])[];
}

const actions_a_step = 100;

/**
 * Finds the rules that name each action, in `match` or in expressions. `system.` and `system*` name all actions with
 * that prefix. Runs in steps, because there may be thousands of rules and actions.
 */
export function* namingRules(
  rules: readonly PolicyDocument[],
  actions: readonly WordedAction[],
): Generator<void, NamingRules> {
  const every_action: string[] = [];
  const whole = new Map<string, PolicyDocument[]>();
  const beginnings = new Map<string, PolicyDocument[]>();
  for (const rule of rules) {
    const { names, selective } = wordsOf(rule);
    if (!selective) every_action.push(rule.metadata.name);
    for (const name of names) {
      addTo(whole, name, rule);
      if (/^.+[.*]$/.test(name)) addTo(beginnings, name.replace(/\*$/, ""), rule);
    }
    yield;
  }
  const naming: string[][] = [];
  for (const [place, action] of actions.entries()) {
    const found = new Set<PolicyDocument>();
    for (const word of [action.type, action.verb, verbWord(action.verb), ...action.data_classes]) {
      for (const rule of whole.get(word) ?? []) found.add(rule);
      for (let length = 1; length <= word.length; length += 1)
        for (const rule of beginnings.get(word.slice(0, length)) ?? []) found.add(rule);
    }
    const fitting = [...found].filter(({ spec }) => fitsAction(spec.match, action));
    naming.push(fitting.map(({ metadata }) => metadata.name).sort());
    if (place % actions_a_step === 0) yield;
  }
  return { every_action: every_action.sort(), naming };
}

/** Selective rules read the type, verb or data classes. */
function wordsOf(rule: PolicyDocument): { readonly names: ReadonlySet<string>; readonly selective: boolean } {
  const { actions = [], verbs = [] } = rule.spec.match ?? {};
  const isNarrow = (pattern: string) => pattern !== "*";
  const names = new Set([...actions.filter(isNarrow), ...verbs.filter(isNarrow).map(verbWord)]);
  let selective = names.size > 0;
  for (const source of expressionsIn(rule)) {
    for (const node of nodesOf(source)) {
      if (node.kind === "literal" && typeof node.value === "string" && node.value !== "") names.add(node.value);
      if (/^(action\.(type|verb)|data_classes)$/.test(namesOf(node)?.join(".") ?? "")) selective = true;
    }
  }
  return { names, selective };
}

/** `match` compares folded verbs; expressions compare verbs as written. */
function verbWord(verb: string): string {
  return `verb ${foldName(verb)}`;
}

function addTo<V>(map: Map<string, V[]>, key: string, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
