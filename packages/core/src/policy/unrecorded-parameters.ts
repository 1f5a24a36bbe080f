import type { Expr } from "@countersign/cel";
import { attested_claim } from "../deciding/classify.ts";
import { type ActionKey, fitsAction } from "./action-index.ts";
import { collectFindings } from "./check/findings.ts";
import { suggestName } from "./check/suggest-name.ts";
import type { PolicyDocument } from "./document.ts";
import { expressionsOf } from "./expressions.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "./located.ts";
import { namesOf, nodesOf } from "./nodes-of.ts";

/** Recorded actions of one tool. */
export interface RecordedTool extends Pick<ActionKey, "type" | "verb"> {
  readonly count: number;
  /** Names of the parameters that any of these actions had. */
  readonly parameters: readonly string[];
}

/** With fewer actions, a parameter that is rarely sent may be missing by chance. */
const actions_min = 20;
const listed_max = 8;

/** Warns about parameters that no recorded action has, because a condition on them is always unknown. */
export function* unrecordedParameterSteps(
  document: PolicyDocument,
  located: Located,
  tools: readonly RecordedTool[],
): Generator<void, readonly PolicyDiagnostic[]> {
  const matching = tools.filter((tool) => fitsAction(document.spec.match, tool));
  const count = matching.reduce((sum, tool) => sum + tool.count, 0);
  if (count < actions_min) return [];
  const known = [...new Set(matching.flatMap(({ parameters }) => parameters))].sort();
  const seen = new Set([...known, attested_claim, ...guardedIn(document)]);
  const findings = collectFindings();
  for (const { path, offset, source } of placedIn(document)) {
    for (const { name, start } of parametersIn(source)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const actions = count.toLocaleString("en-US");
      const message = `Unknown parameter params.${name}: 0 of ${actions} recorded actions that this policy matches have it.`;
      const help = suggestName(name, known) ?? listOf(known);
      findings.add(() => diagnose(located, path, { code: "unknown_parameter", message, help }, offset + start));
    }
    yield;
  }
  return findings.list();
}

/** True if the policy reads any parameter, so that recorded ones matter. */
export function readsParameters(document: PolicyDocument): boolean {
  return placedIn(document).some(({ source }) => parametersIn(source).length > 0);
}

function listOf(known: readonly string[]): string {
  if (known.length === 0) return "These actions have no parameters.";
  const more = known.length > listed_max ? ", …" : "";
  return `They have: ${known.slice(0, listed_max).join(", ")}${more}.`;
}

type Placed = Pick<ReturnType<typeof expressionsOf>[number], "path" | "offset" | "source">;

function placedIn(document: PolicyDocument): readonly Placed[] {
  const variables = (document.spec.variables ?? []).map(({ expr }, at) => ({
    path: `/spec/variables/${at}/expr`,
    source: expr,
    offset: 0,
  }));
  return [...variables, ...expressionsOf(document)];
}

interface Parameter {
  readonly name: string;
  readonly start: number;
}

/** In the order of the text. The source must parse. */
function parametersIn(source: string): Parameter[] {
  const found: Parameter[] = [];
  for (const node of nodesOf(source)) {
    const name = parameterOf(node);
    if (name !== null) found.push({ name, start: node.kind === "select" ? node.fieldStart : node.start });
  }
  return found.sort((a, b) => a.start - b.start);
}

function parameterOf(node: Expr): string | null {
  const whole = namesOf(node);
  if (whole === null) return null;
  const owner = whole.slice(0, -1).join(".");
  return owner === "params" || owner === "intent.payload.content" ? (whole.at(-1) as string) : null;
}

/** Returns parameters that the policy asks for by `has`, so it expects that they may be absent. */
function guardedIn(document: PolicyDocument): string[] {
  return placedIn(document).flatMap(({ source }) =>
    [...nodesOf(source)].flatMap((node) => {
      const name = node.kind === "has" ? parameterOf(node.target) : null;
      return name === null ? [] : [name];
    }),
  );
}
