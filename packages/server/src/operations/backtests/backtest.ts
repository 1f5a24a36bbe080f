import type { Backtest, BacktestInput, BacktestProgress } from "@countersign/contract";
import { limits, onlySubmits } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, parseTimestampUs } from "@countersign/core";
import { readMembrane } from "../../store/membranes/membranes.ts";
import { readAuditSeq } from "../../store/organizations/heads.ts";
import { isAgent } from "../intents/readers.ts";
import type { Packs } from "../policies/read-packs.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { BacktestJob } from "../shared/node-services.ts";
import { storableUs } from "../shared/storable-time.ts";
import { candidateOf } from "./backtest-candidate.ts";
import { keepBacktest, refuseKeeping } from "./keep-backtest.ts";

export interface Following {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BacktestProgress) => void;
}

type Needed = Pick<Runtime, "db" | "clock" | "ids" | "backtests" | "refuseUnknownPacks"> & { readonly packs: Packs };
type Who = Pick<Caller, "role" | "scope" | "agent_id">;

/**
 * Decides recorded intents again, with the candidate or as recorded. Stores nothing unless it is kept. Keys of one agent see that agent's
 * intents, other keys that only submit see their own; for both, stored and pulled facts are unknown. Faults:
 * invalid_request (window, packs, names to leave out), forbidden (another agent, keeping), not_found (membrane), policy_invalid,
 * and those of `Backtests.run`.
 */
export async function backtest(
  runtime: Needed,
  caller: Caller,
  input: BacktestInput,
  following: Following,
): Promise<Backtest> {
  const asked_us = runtime.clock.now_us();
  const { org_id } = caller;
  if (input.keep) refuseKeeping(caller);
  const seq = await runtime.db.tenant(org_id, (query) => readAuditSeq(query, org_id));
  const candidate = await candidateOf(runtime, org_id, input.candidate);
  const job: BacktestJob = {
    org_id,
    filter: {
      ...windowOf(input.window),
      membrane_id: input.membrane_id ?? null,
      agent_id: agentOf(caller, input.agent_id),
      lineage_id: onlySubmits(caller.role) && caller.scope === "org" ? caller.lineage_id : null,
      seq,
    },
    candidate,
    values: !isAgent(caller),
    limit: input.limit ?? limits.backtest_intents_max,
    asked_us,
  };
  const { membrane_id } = input;
  if (membrane_id !== undefined) {
    const membrane = await runtime.db.tenant(org_id, (query) => readMembrane(query, org_id, membrane_id));
    if (membrane === undefined) throw noMembrane();
  }
  const elapsed_ms = () => (runtime.clock.now_us() - asked_us) / 1000;
  const figures = await runtime.backtests.run(job, {
    signal: following.signal,
    onProgress: (state, evaluated, done) => following.onProgress({ state, evaluated, done, elapsed_ms: elapsed_ms() }),
  });
  const result = { backtest_id: runtime.ids.next("backtest"), elapsed_ms: elapsed_ms(), ...figures };
  if (input.keep) await keepBacktest(runtime, caller, { input, candidate, result, asked_us });
  return result;
}

function noMembrane(): Fault {
  const message = "There is no such membrane.";
  return faultAt("not_found", "/membrane_id", "not_found", message);
}

function windowOf({ from, to }: BacktestInput["window"]): { from: string; to: string } {
  const from_us = parseTimestampUs(from);
  const to_us = parseTimestampUs(to);
  if (from_us === null || to_us === null || from_us >= to_us) {
    const message = "Give a window whose `from` is before its `to`.";
    throw faultAt("invalid_request", "/window", "out_of_range", message);
  }
  return { from: formatTimestampUs(storableUs(from)), to: formatTimestampUs(storableUs(to)) };
}

function agentOf({ scope, agent_id }: Who, asked: string | undefined): string | null {
  if (scope !== "agent") return asked ?? null;
  if (asked !== undefined && asked !== agent_id) throw new Fault("forbidden");
  return agent_id;
}
