import { BOOL, DOUBLE, type Environment, type Type } from "@countersign/cel";
import type { PolicyDocument } from "./document.ts";
import { policyEnvironment } from "./environment.ts";
import { parseTemplate } from "./message.ts";

/** `result` is null for any type. */
export interface PlacedExpression {
  readonly path: string;
  /** Offset in UTF-16 units in the text at `path`. */
  readonly offset: number;
  readonly source: string;
  readonly result: Type | null;
  /** Bound of a `cap` or `floor`. */
  readonly bounds: boolean;
}

/** Returns all expressions except variables. A malformed message has none. */
export function expressionsOf({ spec }: PolicyDocument): PlacedExpression[] {
  const found: PlacedExpression[] = [];
  const add = (path: string, source: string | undefined, result: Type | null, offset = 0): void => {
    if (source !== undefined) found.push({ path, source, result, offset, bounds: false });
  };
  add("/spec/when", spec.when, BOOL);
  add("/spec/require", spec.require, BOOL);
  if (typeof spec.risk?.add === "string") add("/spec/risk/add", spec.risk.add, DOUBLE);
  const template = parseTemplate(spec.message ?? "");
  for (const part of template.ok ? template.parts : []) {
    if (part.kind === "expression") add("/spec/message", part.source, null, part.offset);
  }
  add("/spec/modify_when", spec.modify_when, BOOL);
  for (const [index, { op, value: source }] of (spec.modify ?? []).entries()) {
    const bounds = op === "cap" || op === "floor";
    if (source !== undefined)
      found.push({ path: `/spec/modify/${index}/value`, source, result: null, offset: 0, bounds });
  }
  return found;
}

/**
 * Declares the variables and returns the environment of all other expressions. Each variable may use earlier ones.
 * `visit` returns its type. For `beside` see `policyEnvironment`.
 */
export function declareVariables(
  document: PolicyDocument,
  visit: (name: string, expression: PlacedExpression, environment: Environment) => Type,
  beside?: Environment,
): Environment {
  return finish(variableSteps(document, visit, beside));
}

export function* variableSteps(
  { spec }: PolicyDocument,
  visit: (name: string, expression: PlacedExpression, environment: Environment) => Type,
  beside?: Environment,
): Generator<void, Environment> {
  const types: Record<string, Type> = {};
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    const placed = {
      path: `/spec/variables/${index}/expr`,
      offset: 0,
      source: variable.expr,
      result: null,
      bounds: false,
    };
    types[variable.name] = visit(variable.name, placed, policyEnvironment(types, beside));
    yield;
  }
  return policyEnvironment(types, beside);
}

export function finish<R>(steps: Generator<void, R>): R {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
