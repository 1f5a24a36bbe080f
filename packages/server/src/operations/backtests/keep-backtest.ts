import { type Backtest, type BacktestInput, limits, roleMeets } from "@countersign/contract";
import {
  type Candidate,
  Fault,
  formatTimestampUs,
  parseTimestampUs,
  policySha256,
  us_per_day,
  us_per_hour,
} from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { type BacktestSummary, insertKeptBacktest } from "../../store/backtests/kept-backtests.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { storableUs } from "../shared/storable-time.ts";

/** Faults: forbidden, because a key that only submits could not read what it keeps. */
export function refuseKeeping({ role }: Pick<Caller, "role">): void {
  if (!roleMeets(role, ["reviewer", "auditor"])) throw new Fault("forbidden");
}

interface Ran {
  readonly input: BacktestInput;
  readonly candidate: Candidate | null;
  readonly result: Backtest;
  readonly asked_us: number;
}

/** Keeps a result at its address. Faults: those of refuseEnded. */
export async function keepBacktest(runtime: Recording, caller: Caller, ran: Ran): Promise<void> {
  const { org_id, actor } = caller;
  const { keep: _, ...input } = ran.input;
  const { backtest_id, flips, ...figures } = ran.result;
  const result = { backtest_id, ...figures, flips: flips.slice(0, limits.backtest_kept_flips_max) };
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const at = await databaseNow(query);
      const about = { backtest_id, created_at: at, created_by: actor };
      const summary = summaryOf(ran);
      await insertKeptBacktest(query, org_id, { ...about, policy_sha256: triedAlone(ran), summary, input, result });
      const data = { backtest_id, policies: summary.candidate?.policies ?? [] };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "backtest_kept", data })] };
    }),
  );
}

function summaryOf({ input, candidate, result }: Ran): BacktestSummary {
  const { membrane_id = null, agent_id = null, window } = input;
  const { evaluated, flips_total, agrees_with_reviewers } = result;
  return {
    candidate:
      candidate === null
        ? null
        : {
            policies: (candidate.policies ?? []).map(({ metadata }) => metadata.name),
            packs: candidate.packs === undefined ? null : [...candidate.packs],
            thresholds: candidate.thresholds ?? null,
            without: [...(candidate.without ?? [])],
          },
    ...{ from: formatTimestampUs(storableUs(window.from)), to: formatTimestampUs(storableUs(window.to)) },
    ...{ membrane_id, agent_id, evaluated, flips_total, agrees_with_reviewers },
  };
}

/**
 * Returns the hash of the version if the backtest is evidence for it: tried alone, on all recent traffic. Allows an hour,
 * because clocks differ.
 */
function triedAlone({ input, candidate, asked_us }: Ran): string | null {
  const { membrane_id, agent_id, limit, window } = input;
  const { policies = [], packs, thresholds, without = [] } = candidate ?? {};
  const [policy, ...others] = policies;
  if (policy === undefined || others.length > 0 || without.length > 0) return null;
  if ([packs, thresholds, membrane_id, agent_id, limit].some((each) => each !== undefined)) return null;
  const [from_us, to_us] = [parseTimestampUs(window.from) as number, parseTimestampUs(window.to) as number];
  const is_long = Math.min(to_us, asked_us) - from_us >= limits.policy_readiness_days * us_per_day - us_per_hour;
  return is_long && to_us >= asked_us - us_per_hour ? policySha256(policy) : null;
}
