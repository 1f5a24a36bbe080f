/** Calls the database function `commit_decisions` (decision 0012). */
import type { CommitOutcome } from "./commit-writer-rows.ts";

export const commitStatement = (name = "commit_decisions") => ({
  name: "commit-decisions",
  text: `select * from ${name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
});

export const commitSettings = {
  plan_cache_mode: "force_generic_plan", // one plan for every batch
  enable_seqscan: "off", // the plan may have been made while the tables were empty
  enable_bitmapscan: "off", // a bitmap scan sorts all versions of a head
  jit: "off",
};

/** Source: `refused_decision` in the migration. */
export interface RefusedDecision {
  /** Position of the decision in the call, from 1. */
  readonly line: number;
  readonly state: "committed" | "no_head" | "stale" | "duplicate" | "override_spent" | "counted" | "quota_exceeded";
  readonly auth_epoch: number | null;
  readonly policy_epoch: number | null;
  readonly context_epoch: number | null;
  readonly first_intent_id: string | null;
  readonly first_request_sha256: string | null;
  readonly period: string | null;
  readonly used: number | null;
  readonly hard_limit: number | null;
  readonly announced: boolean | null;
}

/** Returns the outcome of a refused decision. "no_head": no such organization. */
export function outcomeOf(refused: RefusedDecision): CommitOutcome | "no_head" {
  switch (refused.state) {
    case "committed":
      return { outcome: "committed" };
    case "no_head":
      return "no_head";
    case "stale": {
      const { auth_epoch, policy_epoch, context_epoch } = refused;
      return {
        outcome: "stale",
        epochs: { auth: Number(auth_epoch), policy: Number(policy_epoch), context: Number(context_epoch) },
      };
    }
    case "override_spent":
      return { outcome: "override_spent" };
    case "counted":
      return { outcome: "counted" };
    case "duplicate": {
      const { first_intent_id, first_request_sha256 } = refused;
      return { outcome: "duplicate", intent_id: first_intent_id ?? "", request_sha256: first_request_sha256 ?? "" };
    }
    case "quota_exceeded": {
      const { period, used, hard_limit, announced } = refused;
      return {
        outcome: "quota_exceeded",
        period: period ?? "",
        used: Number(used),
        hard_limit: Number(hard_limit),
        announced: announced === true,
      };
    }
    default:
      throw new Error(`commit_decisions answered ${refused.state}`);
  }
}
