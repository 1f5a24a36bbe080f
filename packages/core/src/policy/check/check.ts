import type { Diagnostic, Environment, Type } from "@countersign/cel";
import { limits } from "@countersign/contract";
import type { PolicyDocument } from "../document.ts";
import { expressionsOf, finish, type PlacedExpression, variableSteps } from "../expressions.ts";
import { parseTemplate } from "../message.ts";
import type { PolicyDiagnostic, SourceDocument } from "../source.ts";
import { unreadableLiterals } from "./check-literals.ts";
import { costSteps, type PolicyCost } from "./cost.ts";
import { collectFindings, type Findings } from "./findings.ts";
import { helpOfCode } from "./help.ts";
import { misspeltPatterns, neverEqual } from "./never-equal.ts";
import { parsePolicy } from "./parse.ts";
import { starred_help, starred_message, starredPaths } from "./starred-paths.ts";
import { unknownMembers } from "./unknown-members.ts";

/** What `cap` and `floor` can take, or what may turn out to be that; an int is as good as a double there. */
const number_kinds: ReadonlySet<Type["kind"]> = new Set(["double", "int", "uint", "dyn", "parameter"]);

/**
 * The result of checking: the document may be stored exactly when it is not null. Warnings keep nothing from being
 * stored.
 */
export interface CheckedPolicy {
  readonly document: PolicyDocument | null;
  readonly diagnostics: readonly PolicyDiagnostic[];
  readonly warnings: readonly PolicyDiagnostic[];
}

/**
 * Checks a policy document in full: form, meaning, and every expression against the declared types. Returns all
 * problems at once, as far as `findings.ts` lists them, each at its line and column in the document, and never throws.
 * Tests beside the policy are not run; see `runPolicyTests`.
 * Source: policies.md §1 "Checker"; api.md §10.
 */
export function checkPolicy(input: string | Readonly<Record<string, unknown>>): CheckedPolicy {
  return finish(checkPolicySteps(input));
}

/**
 * The same in steps: reading, then one for each expression. A document of 64 KiB keeps a processor busy for some 0.1 s; a
 * service that has others to answer takes one step at a time.
 */
export function* checkPolicySteps(input: string | Readonly<Record<string, unknown>>): Generator<void, CheckedPolicy> {
  const { document, readable, diagnostics: wrong, source } = parsePolicy(input);
  const errors = collectFindings();
  for (const one of wrong) errors.add(() => one);
  if (readable === null || errors.full()) return { document, diagnostics: errors.list(), warnings: [] };
  yield;
  const warnings = collectFindings();
  const patterns = { work: 0 };
  const check = (expression: PlacedExpression, environment: Environment): Type => {
    const { type, diagnostics: found } = environment.check(expression.source, { result: expression.result, patterns });
    for (const one of found) {
      // Facts may always be absent: that is what on_unknown is for, and no news to whoever writes a policy.
      if (one.severity === "hint") continue;
      (one.severity === "error" ? errors : warnings).add(() => placed(source, expression, one));
    }
    if (found.some(({ severity }) => severity === "error")) return type;
    for (const { start, message, help } of unreadableLiterals(expression.source))
      errors.add(() => source.at(expression.path, { code: "literal", message, help }, expression.offset + start));
    const odd = { undeclared_field: unknownMembers(expression.source), not_allowed: neverEqual(expression.source) };
    for (const [code, places] of Object.entries(odd))
      for (const { start, message, help } of places)
        warnings.add(() => source.at(expression.path, { code, message, help }, expression.offset + start));
    if (expression.bounds && !number_kinds.has(type.kind)) {
      const finding = { code: "wrong_result", message: "A bound must be a number.", help: helpOfCode.wrong_result };
      errors.add(() => source.at(expression.path, finding, expression.offset));
    }
    return type;
  };
  const environment = yield* variableSteps(readable, (_, expression, before) => check(expression, before));
  for (const expression of expressionsOf(readable)) {
    check(expression, environment);
    yield;
  }
  for (const path of starredPaths(readable.spec.modify))
    warnings.add(() => source.at(path, { code: "bad_format", message: starred_message, help: starred_help }));
  for (const { path, message, help } of misspeltPatterns(readable.spec))
    warnings.add(() => source.at(path, { code: "not_allowed", message, help }));
  const template = parseTemplate(readable.spec.message ?? "");
  if (!template.ok) {
    const help = "An expression in a message stands between {{ and }}.";
    const finding = { code: "syntax", message: template.message, help };
    errors.add(() => source.at("/spec/message", finding, template.offset));
  }
  if (errors.list().length === 0) refuseCost(yield* costSteps(readable), source, errors);
  const diagnostics = errors.list();
  return { document: diagnostics.length > 0 ? null : document, diagnostics, warnings: warnings.list() };
}

/** A policy that could use up the budget of a whole policy set, on values of the size that it must be ready for. */
function refuseCost({ units, worst }: PolicyCost, source: SourceDocument, errors: Findings): void {
  if (units <= limits.policy_cost_budget || worst === null) return;
  const shown = Number.isFinite(units) ? Math.ceil(units).toLocaleString("en-US") : "endlessly many";
  const budget = limits.policy_cost_budget.toLocaleString("en-US");
  const message = `Evaluating the policy may take ${shown} units, most of them here; ${budget} is the budget of all policies together.`;
  const help =
    `Nest fewer loops, or write patterns as literals. Counted with ${limits.policy_items_declared} entries in a list or map and ` +
    `${limits.policy_text_chars_declared.toLocaleString("en-US")} characters in a text, and texts or numbers in lists that are searched.`;
  errors.add(() => source.at(worst.path, { code: "cost", message, help }, worst.offset));
}

function placed(source: SourceDocument, expression: PlacedExpression, one: Diagnostic): PolicyDiagnostic {
  const expected = one.expected.length > 0 ? `Expected: ${one.expected.join(", ")}.` : null;
  const message = `${one.message.charAt(0).toUpperCase()}${one.message.slice(1)}.`;
  return source.at(
    expression.path,
    { code: one.code, message, help: one.help ?? expected ?? helpOfCode[one.code] },
    expression.offset + one.start,
  );
}
