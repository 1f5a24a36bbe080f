import { type CounterWindow, windowOf } from "@countersign/core";
import { type Counting, readCounters, readEnds } from "../../store/backtests/counted-backtests.ts";
import type { BacktestJob } from "../shared/node-services.ts";
import type { Deciders } from "./deciders.ts";
import type { ReplayNeeds } from "./replay-needs.ts";

/**
 * Returns the windows of all counters that the candidate has at any time of the backtest. Empty: nothing is simulated,
 * because there is no candidate, it has no counters, or the caller does not see what others do.
 */
export async function counterWindows(
  needs: ReplayNeeds,
  { org_id, filter, candidate, values }: BacktestJob,
  deciders: Deciders,
): Promise<CounterWindow[]> {
  if (candidate === null || !values) return [];
  const ends = await needs.read((query) => readEnds(query, org_id, filter));
  if (ends === null) return [];
  const history = await deciders.historyUntil(ends.last_epoch);
  const then = history.everInForce(ends.first_epoch, ends.last_epoch);
  const own = await needs.read((query) => readCounters(query, org_id, then.policies));
  const replaced = new Set((candidate.policies ?? []).map(({ metadata }) => metadata.name));
  const packs = candidate.packs ?? [...then.packs];
  const rules = packs.flatMap((pack) => needs.packs.get(pack)?.rules ?? []);
  const documents = [...rules, ...(candidate.policies ?? [])];
  const left_out = new Set(candidate.without ?? []);
  const counting: Counting[] = [
    ...own.filter(({ name }) => !replaced.has(name) && !left_out.has(name)),
    ...documents.filter(({ metadata }) => !left_out.has(metadata.name)).map(({ spec }) => spec),
  ];
  return counting.flatMap(({ counters = [], after = [] }) => [
    ...counters.map(({ window }) => windowOf(window)),
    ...after.map(({ within }) => windowOf(within)),
  ]);
}
