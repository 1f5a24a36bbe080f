import type { Escalation } from "@countersign/contract";

/**
 * Returns the greatest of the agent's own figure and the parameters with names that end in `_usd`. An agent that states
 * less than it moves must not sink in the queue. `shown_content` has no hidden values.
 */
export function amountAtStake(
  stated_usd: number | undefined,
  shown_content: Readonly<Record<string, unknown>> | null,
): Pick<Escalation, "amount_usd"> {
  const amounts = Object.entries(shown_content ?? {}).flatMap(([name, value]) =>
    name.toLowerCase().endsWith("_usd") && typeof value === "number" && value >= 0 ? [value] : [],
  );
  if (stated_usd !== undefined) amounts.push(stated_usd);
  return amounts.length === 0 ? {} : { amount_usd: Math.max(...amounts) };
}
