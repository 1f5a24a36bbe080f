import type { Diagnostic, Environment, Type } from "@countersign/cel";
import { limits } from "@countersign/contract";
import { counterFindings } from "../../counters/check-counters.ts";
import { undefinedReads } from "../../counters/check-reads.ts";
import type { PolicyDocument } from "../document.ts";
import { expressionsOf, finish, type PlacedExpression, variableSteps } from "../expressions.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../located.ts";
import { parseTemplate } from "../message.ts";
import { inexactNumbers, unreadableLiterals } from "./check-literals.ts";
import { costSteps, type PolicyCost } from "./cost.ts";
import { deadGrants } from "./dead-grants.ts";
import { deadPaths } from "./dead-paths.ts";
import { collectFindings, type Findings } from "./findings.ts";
import { helpOfCode } from "./help.ts";
import { misspeltPatterns, neverEqual } from "./never-equal.ts";
import { parsePolicy } from "./parse.ts";
import { softLimit } from "./soft-limits.ts";
import { unknownMembers } from "./unknown-members.ts";

const numberKinds: ReadonlySet<Type["kind"]> = new Set(["double", "int", "uint", "dyn", "parameter"]);

/** A document that is not null may be stored, even with warnings. */
export interface CheckedPolicy {
  readonly document: PolicyDocument | null;
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly warnings: readonly PolicyDiagnostic[];
  readonly located: Located;
}

/**
 * Checks form and expressions: YAML or JSON text, or an object. Returns all findings up to the limit of `findings.ts`
 * and never throws. For the policy's tests see `runPolicyTests`.
 */
export function checkPolicy(input: string | Readonly<Record<string, unknown>>): CheckedPolicy {
  return finish(checkPolicySteps(input));
}

/** Takes steps, because a document of 64 KiB takes about 0.1 s. */
export function* checkPolicySteps(input: string | Readonly<Record<string, unknown>>): Generator<void, CheckedPolicy> {
  const { document, readable, diagnostics: wrong, located } = parsePolicy(input);
  const errors = collectFindings();
  for (const one of wrong) errors.add(() => one);
  if (readable === null || errors.full()) return { document, diagnostics: errors.list(), warnings: [], located };
  yield;
  const warnings = collectFindings();
  const patterns = { work: 0 };
  const check = (expression: PlacedExpression, environment: Environment): Type => {
    const { type, diagnostics: found } = environment.check(expression.source, { result: expression.result, patterns });
    for (const one of found) {
      // Hints say that a fact may be absent, which on_unknown already covers.
      if (one.severity === "hint") continue;
      (one.severity === "error" ? errors : warnings).add(() => expressionDiagnostic(located, expression, one));
    }
    if (found.some(({ severity }) => severity === "error")) return type;
    for (const { start, message, help } of unreadableLiterals(expression.source))
      errors.add(() =>
        diagnose(located, expression.path, { code: "literal", message, help }, expression.offset + start),
      );
    const odd = {
      undeclared_field: unknownMembers(expression.source),
      not_allowed: neverEqual(expression.source),
      literal: inexactNumbers(expression.source),
    };
    for (const [code, places] of Object.entries(odd))
      for (const { start, message, help } of places)
        warnings.add(() => diagnose(located, expression.path, { code, message, help }, expression.offset + start));
    if (expression.bounds && !numberKinds.has(type.kind)) {
      const finding = { code: "wrong_result", message: "A bound must be a number.", help: helpOfCode.wrong_result };
      errors.add(() => diagnose(located, expression.path, finding, expression.offset));
    }
    return type;
  };
  const environment = yield* variableSteps(readable, (_, expression, before) => check(expression, before));
  for (const expression of expressionsOf(readable)) {
    check(expression, environment);
    yield;
  }
  for (const { path, message, help } of deadPaths(readable))
    errors.add(() => diagnose(located, path, { code: "not_allowed", message, help }));
  for (const { path, message, help } of misspeltPatterns(readable.spec))
    warnings.add(() => diagnose(located, path, { code: "not_allowed", message, help }));
  for (const { path, code, message, help, offset } of counterFindings(readable))
    errors.add(() => diagnose(located, path, { code, message, help }, offset));
  for (const { severity, path, code, message, help, offset } of errors.list().length > 0
    ? []
    : undefinedReads(readable))
    (severity === "error" ? errors : warnings).add(() => diagnose(located, path, { code, message, help }, offset));
  const soft = softLimit(readable.spec);
  if (soft !== null) warnings.add(() => diagnose(located, "/spec/override", { code: "not_allowed", ...soft }));
  const dead = deadGrants(readable.spec);
  if (dead !== null) errors.add(() => diagnose(located, "/spec/escalation/grants", { code: "not_allowed", ...dead }));
  const template = parseTemplate(readable.spec.message ?? "");
  if (!template.ok) {
    const help = "Write an expression in a message between {{ and }}.";
    const finding = { code: "syntax", message: template.message, help };
    errors.add(() => diagnose(located, "/spec/message", finding, template.offset));
  }
  if (errors.list().length === 0) refuseCost(yield* costSteps(readable), located, errors);
  const diagnostics = errors.list();
  return { document: diagnostics.length > 0 ? null : document, diagnostics, warnings: warnings.list(), located };
}

/** Refuses a policy that alone could use up the budget. */
function refuseCost({ units, worst }: PolicyCost, located: Located, errors: Findings): void {
  if (units <= limits.policy_cost_budget || worst === null) return;
  const shown = Number.isFinite(units) ? Math.ceil(units).toLocaleString("en-US") : "endlessly many";
  const budget = limits.policy_cost_budget.toLocaleString("en-US");
  const message = `Evaluating the policy may take ${shown} units, most of them here; ${budget} is the budget of all policies together.`;
  const help =
    `Nest fewer loops, or write patterns as literals. Counted with ${limits.policy_items_declared} entries in a list or map and ` +
    `${limits.policy_text_chars_declared.toLocaleString("en-US")} characters in a text, and texts or numbers in lists that are searched.`;
  errors.add(() => diagnose(located, worst.path, { code: "cost", message, help }, worst.offset));
}

function expressionDiagnostic(located: Located, expression: PlacedExpression, one: Diagnostic): PolicyDiagnostic {
  const expected = one.expected.length > 0 ? `Expected: ${one.expected.join(", ")}.` : null;
  const message = `${one.message.charAt(0).toUpperCase()}${one.message.slice(1)}.`;
  return diagnose(
    located,
    expression.path,
    { code: one.code, message, help: one.help ?? expected ?? helpOfCode[one.code] },
    expression.offset + one.start,
  );
}
