/** For comparison with figures. */
import type { Decided } from "./decided.ts";

/** Times are on the hour. */
export interface RecountedWindow {
  readonly from: string;
  readonly to: string;
  readonly membrane_id?: string;
  readonly mode?: string;
}

interface ReasonLike {
  readonly policy_id: string;
  readonly policy: string;
  readonly effect: string;
  readonly unknown_facts: readonly { readonly path: string; readonly reason: string }[];
}

const hour_ms = 3_600_000;

/** Returns the answer of `readOverview`. */
export function recount(decisions: readonly Required<Omit<Decided, "decision" | "verb">>[], window: RecountedWindow) {
  const from_ms = Date.parse(window.from);
  const within = decisions.filter(
    ({ at, membrane_id, mode }) =>
      Date.parse(at) >= from_ms &&
      Date.parse(at) < Date.parse(window.to) &&
      (window.membrane_id ?? membrane_id) === membrane_id &&
      (window.mode ?? mode) === mode,
  );
  const risk = Array.from({ length: 10 }, () => 0);
  const [verdicts, policies, missing] = [new Counts(), new Counts(), new Counts()];
  const [agents, held] = [new Counts(), new Counts()];
  const rules = new Map<string, Set<string>>();
  let missed = 0;
  for (const { at, mode, verdict, risk_score, agent_id, reasons } of within) {
    const hour = Math.floor((Date.parse(at) - from_ms) / hour_ms);
    verdicts.add(JSON.stringify([hour, mode, verdict]));
    const bin = Math.min(9, Math.floor(risk_score * 10 + 1e-9));
    risk[bin] = (risk[bin] ?? 0) + 1;
    agents.add(agent_id);
    if (["block", "escalate"].includes(verdict)) held.add(agent_id);
    if (verdict === "approve") continue;
    const paths = new Set<string>();
    for (const { policy_id, policy, effect, unknown_facts } of reasons as readonly ReasonLike[]) {
      if (effect === "none") continue;
      policies.add(JSON.stringify([policy_id, policy, effect]));
      for (const { path, reason } of unknown_facts) {
        if (!path.startsWith("facts.") || !["missing", "null", "stale"].includes(reason)) continue;
        paths.add(path);
        rules.set(path, (rules.get(path) ?? new Set()).add(policy_id));
      }
    }
    if (paths.size > 0) missed += 1;
    for (const path of paths) missing.add(path);
  }
  return {
    decisions: within.length,
    verdicts: verdicts.sorted(),
    risk,
    policies: policies.sorted(),
    agents: agents.sorted().map(([agent, count]) => [agent, count, held.of(agent)]),
    missed,
    missing: missing.sorted().map(([path, count]) => [path, count, [...(rules.get(path) ?? [])].sort()]),
  };
}

class Counts {
  readonly #counts = new Map<string, number>();

  add(key: string): void {
    this.#counts.set(key, this.of(key) + 1);
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  sorted(): [string, number][] {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
