import { type Filters, useFilters } from "../../shell/filters.ts";

/** Age of the recorded actions in days. */
export const windows = [
  ["1", "the last day"],
  ["7", "the last 7 days"],
  ["31", "the last 31 days"],
  ["92", "the last 3 months"],
] as const;

const names = ["policy_id", "packs", "escalate_at", "block_at", "days", "membrane_id", "agent_id"] as const;

type ScopeFilters = Filters<(typeof names)[number]>;

/** The candidate of a backtest, and its actions. Lists are texts with commas in the address. */
export interface Scope extends Pick<ScopeFilters, "escalate_at" | "block_at" | "membrane_id" | "agent_id"> {
  /** The newest versions of these count as active. */
  readonly policy_ids: readonly string[];
  /** Undefined: as recorded. Empty: no packs. */
  readonly packs: readonly string[] | undefined;
  readonly days: string;
}

export const no_packs = "none";

export function useScope(): [Scope, (change: ScopeFilters) => void] {
  const [filters, setFilters] = useFilters(names);
  const { policy_id, packs, days = "", ...others } = filters;
  // The address may contain any text.
  const known = windows.some(([value]) => value === days);
  const scope = {
    ...others,
    policy_ids: [...new Set(listIn(policy_id))],
    packs: packs === undefined ? undefined : listIn(packs).filter((name) => name !== no_packs),
    days: known ? days : "7",
  };
  return [scope, setFilters];
}

const listIn = (text: string | undefined): string[] => (text ?? "").split(",").filter((each) => each !== "");

const none = "none";

/** A threshold in a form: a number from 0 to 1, or none. */
const threshold_pattern = `0|1|0?\\.\\d{1,6}|1\\.0+|${none}`;

/** Undefined: as recorded, or no threshold. Null: none. */
export function thresholdIn(text: string | undefined): number | null | undefined {
  if (text === undefined || !new RegExp(`^(?:${threshold_pattern})$`).test(text)) return undefined;
  return text === none ? null : Number(text);
}

export interface ScopeProps {
  readonly scope: Scope;
  readonly onScope: ReturnType<typeof useScope>[1];
}
