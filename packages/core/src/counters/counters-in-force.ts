import { type Program, unknown } from "@countersign/cel";
import { type Bindings, bindVariables } from "../deciding/bind-facts.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { actionNames } from "../policy/environment.ts";
import type { CounterDocument } from "./definition.ts";

/** A number that a policy compares a counter with. */
interface CounterLimit {
  readonly policy: string;
  readonly policy_mode: "live" | "shadow";
  readonly field: "sum" | "n";
  readonly limit: number;
}

export interface CounterInForce {
  /** As in the policy. */
  readonly window: CounterDocument["window"];
  /** The CEL expression of the amount. Null: each action counts 1. */
  readonly value: string | null;
  readonly limits: CounterLimit[];
}

/** Returns the counters of the policies that apply at `now_us`, by name. Leaves out limits that depend on an action. */
export function countersInForce({ live, shadow }: PolicySet, now_us: number): ReadonlyMap<string, CounterInForce> {
  const policies = [...live.placed, ...shadow.placed].map(({ policy }) => policy);
  const limits = policies
    .filter(({ effective_from_us, effective_until_us }) => now_us >= effective_from_us && now_us < effective_until_us)
    .flatMap(limitsOf)
    .sort((a, b) => a.field.localeCompare(b.field) || a.limit - b.limit);
  const counters = policies.flatMap(({ document }) => document.spec.counters ?? []);
  const limitsFor = (name: string): CounterLimit[] =>
    limits.filter(({ counter }) => counter === name).map(({ counter, ...limit }) => limit);
  return new Map(counters.map(({ name, window, value = null }) => [name, { window, value, limits: limitsFor(name) }]));
}

function limitsOf(policy: CompiledPolicy): (CounterLimit & { readonly counter: string })[] {
  const { name, mode, read_counters } = policy;
  const seen = new Set<string>();
  return read_counters.flatMap(({ name: counter, limits }) =>
    limits.flatMap(({ field, limit: program }) => {
      const limit = constantOf(policy, program);
      const place = `${counter} ${field} ${limit}`;
      if (limit === null || seen.has(place)) return [];
      seen.add(place);
      return [{ counter, policy: name, policy_mode: mode, field, limit }];
    }),
  );
}

/** The reason is no absence, so `has(params.limit)` is unknown and not false. */
const anyAction = Object.fromEntries(actionNames.map((name) => [name, unknown(name, "of an action")]));

/** Returns the value of an expression if it is the same number for every action, else null. */
function constantOf(policy: CompiledPolicy, program: Program): number | null {
  const bindings = { ...anyAction, memo: [] } as unknown as Bindings;
  bindVariables(policy, bindings);
  const result = program.evaluate(bindings);
  const value = result.kind === "value" ? result.value : null;
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}
