import type { PipelineMode, Reason, Verdict } from "@countersign/contract";
import { inWords } from "../deciding/decide.ts";
import { type DecidableIntent, type DecideInput, goesThrough, type MembraneSettings } from "../deciding/decision.ts";
import { type Judgement, judge, type Said, saidBy } from "../deciding/judge.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import type { MergedFacts } from "../facts/merge.ts";

/** An intent as it was recorded, with everything that deciding it again depends on but the policies. */
export interface RecordedIntent {
  readonly intent: DecidableIntent;
  readonly attested: boolean;
  readonly facts: MergedFacts;
  readonly mode: PipelineMode;
  /** When it was decided. */
  readonly now_us: number;
  /** What the override that was spent on it lifts; null: none was. */
  readonly lifts: readonly string[] | null;
}

/** A recorded intent decided again. Most are only counted: their reasons are put into words when they are asked for. */
export interface ReplayedDecision {
  readonly verdict: Verdict;
  /** Its type is that of the membrane's catalogue, where that has one. */
  readonly action: { readonly type: string; readonly verb: string };
  /** Who said it: one for each reason. */
  readonly said: () => readonly Said[];
  readonly reasons: () => readonly Reason[];
}

/** Decides a recorded intent again, at its own time and on its own facts, as a submission is decided. Pure. */
export function replayIntent(
  recorded: RecordedIntent,
  by: { readonly policySet: PolicySet; readonly membrane: MembraneSettings },
): ReplayedDecision {
  const { intent, attested, facts, mode, now_us, lifts } = recorded;
  const input = { intent, attested, facts, mode, now_us, ...by };
  const first = judge(input);
  if (lifts === null || goesThrough(first.verdict)) return replayed(input, first);
  // An override is spent only on what it lets through.
  const again = { ...input, overrides: lifts };
  const lifted = judge(again);
  return goesThrough(lifted.verdict) ? replayed(again, lifted) : replayed(input, first);
}

function replayed(input: DecideInput, judgement: Judgement): ReplayedDecision {
  const reasons = () => inWords(input, judgement).content.reasons;
  return {
    verdict: judgement.verdict,
    action: { type: judgement.action.type, verb: input.intent.action.verb },
    said() {
      const said = saidBy(judgement);
      if (!hides(judgement) || said.every(({ paths }) => paths.length === 0)) return said;
      // A path may have a hidden text in it; in reasons it has none.
      return reasons().map(({ policy, effect, unknown_facts }) => ({
        policy,
        effect,
        paths: unknown_facts.map(({ path }) => path),
      }));
    },
    reasons,
  };
}

function hides({ round, modified }: Judgement): boolean {
  return [round, modified?.round].some((each) => each?.votes.some(({ vote }) => vote.policy.hides.length > 0));
}
