import type { PipelineMode } from "@countersign/contract";
import { decide } from "../decide.ts";
import type { DecidableIntent, DecisionContent, MembraneSettings } from "../decision.ts";
import type { MergedFacts } from "../facts/merge.ts";
import type { PolicySet } from "../policy-set.ts";

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

/** Decides a recorded intent again, at its own time and on its own facts, as a submission is decided. Pure. */
export function replayIntent(
  recorded: RecordedIntent,
  by: { readonly policySet: PolicySet; readonly membrane: MembraneSettings },
): DecisionContent {
  const { intent, attested, facts, mode, now_us, lifts } = recorded;
  const input = { intent, attested, facts, mode, now_us, ...by };
  const { content } = decide(input);
  if (lifts === null || goesThrough(content)) return content;
  // An override is spent only on what it lets through.
  const lifted = decide({ ...input, overrides: lifts }).content;
  return goesThrough(lifted) ? lifted : content;
}

function goesThrough({ verdict }: DecisionContent): boolean {
  return verdict === "approve" || verdict === "approve_modified";
}
