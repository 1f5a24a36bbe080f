import { type Escalation, limits, type Reason } from "@countersign/contract";
import { default_verdict_name } from "../deciding/decision.ts";

type Cause = Pick<Escalation, "missing_facts" | "uncovered">;

const missing: ReadonlySet<string> = new Set(["missing", "null", "stale"]);

/** Returns why a held action waits, if each rule that holds it lacks facts, or if no rule covers the tool. */
export function causeOf(reasons: readonly Reason[]): Cause {
  const holding = reasons.filter(({ effect }) => effect === "escalate");
  if (holding.length === 0) return {};
  if (holding.every(({ policy_id, policy }) => policy_id === null && policy === default_verdict_name))
    return { uncovered: true };
  const lacking = holding.map(({ unknown_facts }) =>
    unknown_facts.flatMap(({ path, reason }) => (path.startsWith("facts.") && missing.has(reason) ? [path] : [])),
  );
  if (lacking.some((paths) => paths.length === 0)) return {};
  return { missing_facts: [...new Set(lacking.flat())].sort().slice(0, limits.missing_facts_max) };
}
