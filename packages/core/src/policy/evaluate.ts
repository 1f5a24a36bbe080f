import {
  type Budget,
  type Cause,
  type EvaluateOptions,
  type EvaluationContext,
  type LazyObject,
  lazy,
  type Program,
  type Result,
  type Timestamp,
} from "@countersign/cel";
import type { PullFailure } from "@countersign/contract";
import type { FactBindings } from "../facts/staleness.ts";
import { clipText } from "../values/clip-text.ts";
import type { CompiledPolicy } from "./compile.ts";

/** What expressions see of one action under one view of the facts. `vars` is put in anew for every policy. */
export interface SceneBindings extends Record<string, unknown> {
  facts: FactBindings;
  vars: LazyObject<never> | null;
  /** Values of variables that policies share, by slot; no expression can name it. */
  readonly memo: unknown[];
}

/** One view of an action, and the evaluation of it that all policies take part in. */
export interface View {
  readonly bindings: SceneBindings;
  readonly evaluation: EvaluationContext;
}

/** One action to evaluate policies on, with its views of the facts and the budget that all policies share. */
export interface Scene {
  /** Stale facts are unknown. */
  readonly fresh: View;
  /** Every fact as given; null when nothing is stale. */
  readonly raw: View | null;
  /** As `raw`, without stale word on which laws apply; null when there is none. */
  readonly unscoped: View | null;
  /** Why facts are missing: the context source gave none. Null: nobody says. */
  readonly not_pulled: PullFailure | null;
  readonly options: EvaluateOptions & { readonly now: Timestamp; readonly budget: Budget };
}

/** A policy that fired, or that could not be evaluated. */
export interface Finding {
  readonly policy: CompiledPolicy;
  readonly state: "fired" | "unknown";
  /** What kept it from being definite; empty when it fired. */
  readonly unknowns: readonly Cause[];
}

const quiet = Object.freeze({ state: "quiet" });
const notApplicable = Object.freeze({ state: "not_applicable" });

/**
 * The outcome of one policy: a finding, or one of two constants that say there is none; `not_applicable`: its `when` is
 * definitely false, and `require` was not looked at.
 */
export type RuleOutcome = Finding | { readonly state: "quiet" | "not_applicable" };

/**
 * Evaluates one policy. It fires when `when` holds and `require`, if there is one, does not. Stale facts are unknown at
 * first; if they leave it undecided and the raw facts alone make it fire, it fires: stale bad news counts, stale good
 * news does not.
 * Source: policies.md §3 rule 3.
 */
export function evaluateRule(policy: CompiledPolicy, scene: Scene): RuleOutcome {
  const outcome = outcomeOn(policy, scene.fresh, scene);
  if (outcome.state === "fired" || scene.raw === null) return outcome;
  // Not only when unknown: a host function may read a stale fact as a missing one and answer definitely.
  const raw = outcomeOn(policy, scene.raw, scene);
  if (raw.state === "fired") return raw;
  if (scene.unscoped !== null) {
    const unscoped = outcomeOn(policy, scene.unscoped, scene);
    if (unscoped.state === "fired" || (unscoped.state === "unknown" && outcome.state !== "unknown")) return unscoped;
  }
  // What is definite without a fact is so with it, save for such a function: then what it would have said is unknown.
  return raw.state === "unknown" && outcome.state !== "unknown" ? raw : outcome;
}

/**
 * Whether something holds however stale facts are read: as they were given, and as missing. It is asked of what switches
 * rules off, or softens them: stale facts switch rules on only.
 */
export function holdsOnAllViews({ fresh, raw, unscoped }: Scene, holds: (view: View) => boolean): boolean {
  return [fresh, raw, unscoped].every((view) => view === null || holds(view));
}

/** Whether a policy that fires does so however stale facts are read. */
export function firesForSure(policy: CompiledPolicy, scene: Scene): boolean {
  return scene.raw === null || holdsOnAllViews(scene, (view) => outcomeOn(policy, view, scene).state === "fired");
}

function outcomeOn(policy: CompiledPolicy, view: View, scene: Scene): RuleOutcome {
  bindVariables(policy, view.bindings);
  let open: readonly Cause[] | null = null;
  if (policy.when !== null) {
    const applies = evaluateOn(policy.when, view, scene.options);
    if (applies.kind !== "value") open = causesOf(applies);
    else if (applies.value !== true) return notApplicable;
  }
  if (policy.require !== null) {
    const holds = evaluateOn(policy.require, view, scene.options);
    if (holds.kind === "value") {
      if (holds.value === true) return quiet;
    } else open = open === null ? causesOf(holds) : mergeCauses(open, causesOf(holds));
  }
  return open === null ? { policy, state: "fired", unknowns: [] } : { policy, state: "unknown", unknowns: open };
}

/** Puts this policy's variables into the bindings: computed when first read, at most once. */
export function bindVariables(policy: CompiledPolicy, bindings: SceneBindings): void {
  bindings.vars = policy.thunks === null ? null : (lazy(policy.thunks) as unknown as LazyObject<never>);
}

/** Evaluates a program of the policy whose variables are bound to this view. */
export function evaluateOn(program: Program, { evaluation }: View, { budget }: Scene["options"]): Result {
  evaluation.left = budget.left;
  const result = program.evaluateIn(evaluation);
  budget.left = evaluation.left;
  return result;
}

/** The value of a program on the raw facts where there are stale ones, or undefined when it has none. */
export function valueShown(program: Program, policy: CompiledPolicy, scene: Scene): unknown {
  const view = scene.raw ?? scene.fresh;
  bindVariables(policy, view.bindings);
  const result = evaluateOn(program, view, scene.options);
  return result.kind === "value" ? result.value : undefined;
}

/** What kept a result from being a value. An expression without a value names itself as its cause, without NUL characters. */
export function causesOf(result: Result): readonly Cause[] {
  if (result.kind === "unknown") return result.unknowns;
  return result.kind === "error" ? [{ path: "", reason: clipText(result.message.replaceAll("\0", "\ufffd"), 64) }] : [];
}

/** Both, each once, in order. */
export function mergeCauses(a: readonly Cause[], b: readonly Cause[]): readonly Cause[] {
  const known = new Set(a.map((cause) => `${cause.path}\0${cause.reason}`));
  return [...a, ...b.filter((cause) => !known.has(`${cause.path}\0${cause.reason}`))].sort(byPath);
}

function byPath(a: Cause, b: Cause): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : 0;
}
