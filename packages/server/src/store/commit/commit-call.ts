/**
 * The call that commits decisions, and what it answers. What it does is in the database function `commit_decisions` (its migration
 * has the text); decision 0012 has what other ways cost.
 */
import type { CommitOutcome } from "./commit-writer-rows.ts";

/** The call. Its parameters are those of `parametersOf`. */
export const commitStatement = (name = "commit_decisions") => ({
  name: "commit-decisions",
  text: `select * from ${name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
});

/** The settings that the call runs under. */
export const commitSettings = {
  plan_cache_mode: "force_generic_plan", // no plan depends on the batch
  enable_seqscan: "off", // plans are kept from a time when the tables were empty
  enable_bitmapscan: "off", // nor are all versions of a head to be sorted for the newest
  jit: "off",
};

/** A decision that was not stored, as the function returns it. Source: `refused_decision` of its migration. */
export interface RefusedDecision {
  /** The place of the decision in the call, from 1. */
  readonly line: number;
  readonly state: "committed" | "no_head" | "stale" | "duplicate" | "override_spent" | "quota_exceeded";
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

/** What a refused decision comes to; "no_head": there is no such organization. */
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
