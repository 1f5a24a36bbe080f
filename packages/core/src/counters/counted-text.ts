import { Timestamp } from "@countersign/cel";
import { bindVariables, runOn, type Views } from "../deciding/bind-facts.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { amountText, microsOf } from "./amount.ts";

/**
 * Returns sentences about the counters that a policy reads, for example ` (spent: 4 actions, 3,600 of 4,000 since
 * 2026-11-29T14:05:00Z)`. Sums and numbers include this action. Empty if the policy explains nothing.
 */
export function countedText(policy: CompiledPolicy, views: Views): string {
  if (!policy.explain) return "";
  const value = (program: Parameters<typeof runOn>[0]): unknown => {
    bindVariables(policy, views.fresh.bindings);
    const result = runOn(program, views.fresh, views.options);
    return result.kind === "value" ? result.value : undefined;
  };
  return policy.read_counters
    .map(({ name, sum, n, since, limits }) => {
      const number = value(n);
      if (typeof number !== "number") return "";
      const limitOf = (field: "sum" | "n"): string => {
        const limit = limits.find((each) => each.field === field);
        const micros = limit === undefined ? null : microsOf(value(limit.limit));
        return micros === null ? "" : ` of ${amountText(micros)}`;
      };
      const micros = microsOf(value(sum));
      const begin = value(since);
      const from = begin instanceof Timestamp && begin.toMilliseconds() > 0 ? ` since ${begin.toString()}` : "";
      const amount = micros === null || limitOf("sum") === "" ? "" : `, ${amountText(micros)}${limitOf("sum")}`;
      return ` (${name}: ${number}${limitOf("n")} ${number === 1 ? "action" : "actions"}${amount}${from})`;
    })
    .join("");
}
