import type { Environment, Size } from "@countersign/cel";
import { limits } from "@countersign/contract";
import type { PolicyDocument } from "../document.ts";
import { expressionsOf, finish, type PlacedExpression, variableSteps } from "../expressions.ts";
import { mentionsOf } from "../fact-paths.ts";

/**
 * Sizes up to which a policy must stay within its budget. With larger values, or when an expression searches a list for
 * a list, the evaluation may exceed the budget. The policy is then unknown (`cost`).
 */
const declared: Size = {
  chars: limits.policy_text_chars_declared,
  items: limits.policy_items_declared,
  values: limits.policy_values_declared,
  text: limits.policy_text_total_declared,
  scalars: true,
};
const texts: Size = { chars: limits.label_chars_max, items: limits.data_classes_max, values: 51, text: 6_400 };
const instant: Size = { chars: 0, items: 0, values: 1, text: 0 };

export interface PolicyCost {
  readonly units: number;
  readonly worst: PlacedExpression | null;
}

interface Part {
  readonly units: number;
  readonly variables: ReadonlySet<string>;
}

/**
 * Returns the highest cost of one evaluation of the policy, in units, on values of the declared sizes. `worst` is its
 * most expensive expression. All expressions must have passed their checks.
 */
export function policyCost(document: PolicyDocument): PolicyCost {
  return finish(costSteps(document));
}

export function* costSteps(document: PolicyDocument): Generator<void, PolicyCost> {
  const variables = new Map<string, Part & { readonly size: Size }>();
  const sizeOf = (names: readonly string[]): Size => {
    const [root = "", name = ""] = names;
    if (root === "vars") return variables.get(name)?.size ?? declared;
    if (root === "now") return instant;
    return root === "data_classes" || name === "regulatory_domains" ? texts : declared;
  };
  const variablesBehind = (source: string): Set<string> => {
    const names = new Set(mentionsOf(source).variables);
    for (const name of [...names]) for (const other of variables.get(name)?.variables ?? []) names.add(other);
    return names;
  };
  const part = ({ source, result }: PlacedExpression, environment: Environment): Part & { size: Size } => {
    const { units, size } = environment.estimate(source, sizeOf, { result });
    return { units, size, variables: variablesBehind(source) };
  };
  const variableAt = new Map<string, PlacedExpression>();
  const environment = yield* variableSteps(document, (name, expression, before) => {
    variables.set(name, part(expression, before));
    variableAt.set(name, expression);
    return before.check(expression.source).type;
  });
  let units = 0;
  let worst: PlacedExpression | null = null;
  let highest = -1;
  const count = (expression: PlacedExpression, cost: number): void => {
    units += cost;
    if (cost <= highest) return;
    highest = cost;
    worst = expression;
  };
  // `when` and `require` share the computed variables. Each other expression computes its variables again.
  const conditions = new Set<string>();
  for (const expression of expressionsOf(document)) {
    yield;
    const isCondition = expression.path === "/spec/when" || expression.path === "/spec/require";
    const { units: own, variables: names } = part(expression, environment);
    count(expression, own * (isCondition ? runs_of_conditions : 1));
    for (const name of names) {
      const variable = variableAt.get(name);
      if (variable === undefined || (isCondition && conditions.has(name))) continue;
      if (isCondition) conditions.add(name);
      count(variable, (variables.get(name)?.units ?? 0) * (isCondition ? runs_of_conditions : 1));
    }
  }
  return { units, worst };
}

/** Conditions are evaluated twice: stale facts are unknown in the fresh view and keep their values in the raw view. */
const runs_of_conditions = 2;
