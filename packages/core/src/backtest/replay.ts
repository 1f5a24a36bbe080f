import type { PipelineMode, Reason, Verdict } from "@countersign/contract";
import { type CountedAction, countedAs } from "../counters/counted.ts";
import type { CountSource } from "../counters/counting.ts";
import { classify } from "../deciding/classify.ts";
import type { Concluded } from "../deciding/conclude.ts";
import { judge } from "../deciding/decide.ts";
import {
  type Content,
  type DecidableIntent,
  goesThrough,
  type MembraneSettings,
  type StandingFreeze,
} from "../deciding/decision.ts";
import { explain } from "../deciding/explain.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { type BareReason, bareReasons } from "../deciding/reasons.ts";
import type { MergedFacts } from "../facts/merge.ts";

export interface RecordedIntent {
  readonly intent: DecidableIntent;
  readonly attested: boolean;
  readonly facts: MergedFacts;
  readonly mode: PipelineMode;
  /** Time of the recorded decision. */
  readonly now_us: number;
  /** Names covered by the spent override. */
  readonly lifts: readonly string[] | null;
  /** Freezes of the recorded decision. The new decision has the same. */
  readonly freezes: readonly StandingFreeze[];
  /** Sums of earlier actions. Absent: nothing was counted. */
  readonly counts?: CountSource;
}

interface ReplayedBy {
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
}

/** Reasons are lazy, because most decisions are only counted. */
export interface ReplayedDecision {
  readonly verdict: Verdict;
  /** The catalogue's type, if it has the verb. */
  readonly action: { readonly type: string; readonly verb: string };
  /** Without redacted texts. */
  readonly bare_reasons: () => readonly BareReason[];
  readonly reasons: () => readonly Reason[];
  /** How the action counts if it is carried out as decided. */
  readonly counted: readonly CountedAction[];
}

/** Decides at the recorded time, on the recorded facts. */
export function replayIntent(recorded: RecordedIntent, by: ReplayedBy): ReplayedDecision {
  const { lifts, ...inputs } = recorded;
  const input = { ...inputs, ...by };
  const first = judge(input);
  if (lifts === null || goesThrough(first.conclusion.verdict)) return replayed(first);
  // An override is spent only if it approves the action.
  const overridden = judge({ ...input, overrides: lifts });
  return replayed(goesThrough(overridden.conclusion.verdict) ? overridden : first);
}

/** Returns how an action counts under these policies, if it is carried out with this content. Null: as submitted. */
export function countReplayed(
  { intent, attested, facts, mode, now_us }: RecordedIntent,
  by: ReplayedBy,
  content: Content | null,
): readonly CountedAction[] {
  const classified = classify({ intent, attested, facts, mode, now_us, ...by });
  return countedAs(classified, content ?? classified.action.content);
}

function replayed(concluded: Concluded): ReplayedDecision {
  const reasons = () => explain(concluded).content.reasons;
  const { type, verb } = concluded.action.key;
  return {
    verdict: concluded.conclusion.verdict,
    action: { type, verb },
    bare_reasons() {
      const bare = bareReasons(concluded);
      if (!redacts(concluded) || bare.every(({ unknown }) => unknown.length === 0)) return bare;
      // Paths may contain redacted texts; those of the reasons do not.
      return reasons().map(({ policy, effect, unknown_facts }) => ({
        policy,
        effect,
        unknown: unknown_facts,
      }));
    },
    reasons,
    counted: concluded.counts.actions,
  };
}

function redacts({ evaluation, modified }: Concluded): boolean {
  return [evaluation, modified.reevaluation].some((each) =>
    each?.votes.some(({ placed }) => placed.policy.redactions.length > 0),
  );
}
