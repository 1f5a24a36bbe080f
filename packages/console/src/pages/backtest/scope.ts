import { type Filters, useFilters } from "../../shell/filters.ts";

/** Age of the recorded actions in days. */
export const windows = [
  ["1", "the last day"],
  ["7", "the last 7 days"],
  ["31", "the last 31 days"],
  ["92", "the last 3 months"],
] as const;

const names = ["policy_id", "days", "membrane_id", "agent_id"] as const;

type ScopeFilters = Filters<(typeof names)[number]>;

/** An empty `policy_id` means the rules as recorded. */
export type Scope = ScopeFilters & { readonly policy_id: string; readonly days: string };

export function useScope(): [Scope, (change: ScopeFilters) => void] {
  const [filters, setFilters] = useFilters(names);
  const { policy_id = "", days = "" } = filters;
  // The address may contain any text.
  const known = windows.some(([value]) => value === days);
  return [{ ...filters, policy_id, days: known ? days : "7" }, setFilters];
}
