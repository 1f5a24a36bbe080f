import type { EvaluationContext, Program, Thunk } from "@countersign/cel";
import type { FactsFrom } from "@countersign/contract";
import { compileTracks, type Track } from "../counters/definition.ts";
import { type DistinctCall, distinctCalls } from "../counters/distinct-calls.ts";
import { type ReadCounter, readCounters } from "../counters/read-counters.ts";
import type { MaxAgeSeconds } from "../facts/staleness.ts";
import { type PolicyNames, policyNames } from "../names/policy-names.ts";
import { parseDurationSeconds, parseTimestampUs } from "../time.ts";
import type { Effect, EscalationSettings, ModifyOp, OnUnknown, OverrideClass, PolicyDocument } from "./document.ts";
import { declareVariables } from "./expressions.ts";
import { mentionsOf } from "./fact-paths.ts";
import { parseTemplate } from "./message.ts";
import type { SharedVariables } from "./shared-variables.ts";

export interface PolicySource {
  readonly policy_id: string;
  readonly version: number;
  readonly document: PolicyDocument;
  readonly mode: "live" | "shadow";
  /** Null for the organization's own policies. */
  readonly pack?: string | null;
}

export interface Change {
  readonly policy_id: string;
  readonly policy: string;
  readonly op: ModifyOp;
  readonly path: string;
  /** Absent for `remove` and `redact`. */
  readonly value?: unknown;
}

/** Text, or a program whose value replaces it. */
type CompiledPart = string | Program;

/** `value` is null for `remove` and `redact`. */
interface CompiledStep {
  readonly op: ModifyOp;
  readonly path: string;
  readonly value: Program | null;
}

/** Immutable. */
export interface CompiledPolicy {
  readonly document: PolicyDocument;
  readonly policy_id: string;
  readonly name: string;
  readonly version: number;
  readonly pack: string | null;
  readonly mode: "live" | "shadow";
  readonly title: string;
  readonly citations: readonly string[];
  readonly effective_from_us: number;
  readonly effective_until_us: number;
  /** Null: always true. */
  readonly when: Program | null;
  readonly require: Program | null;
  readonly thunks: ReadonlyMap<string, Thunk<EvaluationContext>> | null;
  readonly effect: Effect;
  readonly on_unknown: OnUnknown;
  readonly override: OverrideClass;
  /** Number of people who must at least approve. With 2, a timeout never approves. */
  readonly approvals_min: 1 | 2;
  readonly risk: number | Program;
  readonly group: string;
  readonly message: readonly CompiledPart[] | null;
  readonly escalation: EscalationSettings;
  readonly modify_when: Program | null;
  /** The steps other than `mask`. */
  readonly modify: readonly CompiledStep[];
  /** People never see these values once the policy votes. */
  readonly redactions: readonly Change[];
  /** People never see the values at these paths once the policy votes. */
  readonly masks: readonly string[];
  readonly suppresses: readonly string[];
  readonly max_age_seconds: MaxAgeSeconds | null;
  /** Required assurance of facts, if higher than the membrane's. */
  readonly facts_from: FactsFrom | null;
  /** Facts in `when`, as `category.field`, including facts in variables. */
  readonly when_facts: readonly string[];
  /** Facts in `require` and in the expressions of a fired policy. */
  readonly require_facts: readonly string[];
  readonly names: PolicyNames;
  readonly tracks: readonly Track[];
  readonly read_counters: readonly ReadCounter[];
  readonly distinct: readonly (DistinctCall & { readonly program: Program })[];
  readonly explain: boolean;
}

/**
 * Compiles a checked document. An expression that the current checker refuses becomes unknown, because refusing here
 * would stop all decisions. Throws CelSyntaxError for text that is not CEL.
 */
export function compilePolicy(
  { policy_id, version, document, mode, pack }: PolicySource,
  shared: SharedVariables,
): CompiledPolicy {
  const { metadata, spec } = document;
  const thunks = new Map<string, Thunk<EvaluationContext>>();
  const environment = declareVariables(
    document,
    (name, { source }, before) => {
      const { program: variable, thunk } = shared.declare(source, before);
      thunks.set(name, thunk);
      return variable.type;
    },
    shared.environment,
  );
  const program = (source: string): Program => environment.compileUnchecked(source);
  const condition = (source: string | undefined): Program | null =>
    source === undefined ? null : environment.compileUnchecked(source, { result: { kind: "bool" } });
  const facts = factsOf(document);
  return {
    document,
    policy_id,
    name: metadata.name,
    version,
    pack: pack ?? null,
    mode,
    title: metadata.title ?? metadata.name,
    citations: metadata.citations ?? [],
    effective_from_us: parseTimestampUs(metadata.effective_from ?? "") ?? -Infinity,
    effective_until_us: parseTimestampUs(metadata.effective_until ?? "") ?? Infinity,
    when: spec.when?.trim() === "true" ? null : condition(spec.when),
    require: condition(spec.require),
    thunks: thunks.size > 0 ? thunks : null,
    effect: spec.effect,
    on_unknown: spec.on_unknown ?? (spec.effect === "none" ? "skip" : "escalate"),
    override: spec.override ?? "reviewer",
    approvals_min: approvalsMin(spec),
    risk: typeof spec.risk?.add === "string" ? program(spec.risk.add) : (spec.risk?.add ?? 0),
    group: spec.risk?.group ?? metadata.name,
    message: messageParts(spec.message, program),
    escalation: spec.escalation ?? {},
    modify_when: condition(spec.modify_when),
    modify: (spec.modify ?? []).flatMap(({ op, path, value }) =>
      op === "mask" ? [] : [{ op, path, value: value === undefined ? null : program(value) }],
    ),
    redactions: redactionsOf(policy_id, document),
    masks: (spec.modify ?? []).flatMap(({ op, path }) => (op === "mask" ? [path] : [])),
    suppresses: spec.suppresses ?? [],
    max_age_seconds: maxAgeSeconds(spec.facts_max_age),
    facts_from: Object.keys(spec.facts_from ?? {}).length === 0 ? null : (spec.facts_from ?? null),
    when_facts: facts(spec.when),
    require_facts: facts(
      spec.require,
      spec.modify_when,
      ...(spec.modify ?? []).map((step) => step.value),
      typeof spec.risk?.add === "string" ? spec.risk.add : undefined,
    ),
    names: policyNames(document),
    read_counters: readCounters(document, program),
    tracks: compileTracks(spec, (source) => shared.environment.compileUnchecked(source)),
    distinct: distinctCalls(document).map((call) => ({
      ...call,
      program: shared.environment.compileUnchecked(call.source),
    })),
    explain: spec.explain ?? true,
  };
}

/**
 * A block without `on_unknown` escalates when unknown. Approval then takes as many people as an override; two if nobody
 * may override.
 */
function approvalsMin({ effect, override = "reviewer", on_unknown }: PolicyDocument["spec"]): 1 | 2 {
  return effect === "block" && on_unknown === undefined && override !== "reviewer" ? 2 : 1;
}

/** Null without a message, or if it is malformed. */
function messageParts(
  message: string | undefined,
  program: (source: string) => Program,
): readonly CompiledPart[] | null {
  const template = message === undefined ? null : parseTemplate(message);
  if (template?.ok !== true) return null;
  return template.parts.map((part) => (part.kind === "text" ? part.text : program(part.source)));
}

function redactionsOf(policy_id: string, { metadata, spec }: PolicyDocument): readonly Change[] {
  return (spec.modify ?? [])
    .filter(({ op }) => op === "remove" || op === "redact")
    .map(({ op, path }) => ({ policy_id, policy: metadata.name, op, path }));
}

function maxAgeSeconds(ages: PolicyDocument["spec"]["facts_max_age"] = {}): MaxAgeSeconds | null {
  const seconds = Object.entries(ages).map(([name, text]) => [name, parseDurationSeconds(text) ?? 0] as const);
  return seconds.length > 0 ? Object.fromEntries(seconds) : null;
}

/** The returned function includes facts in variables. */
function factsOf({ spec }: PolicyDocument): (...sources: (string | undefined)[]) => readonly string[] {
  const byVariable = new Map<string, ReadonlySet<string>>();
  const collect = (source: string): Set<string> => {
    const mentions = mentionsOf(source);
    const facts = new Set(mentions.facts);
    for (const name of mentions.variables) for (const path of byVariable.get(name) ?? []) facts.add(path);
    return facts;
  };
  for (const variable of spec.variables ?? []) byVariable.set(variable.name, collect(variable.expr));
  return (...sources) => {
    const given = sources.filter((source) => source !== undefined);
    return [...new Set(given.flatMap((source) => [...collect(source)]))].sort();
  };
}
