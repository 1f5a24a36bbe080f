/** What people had before them when they approved an action, besides the action itself. */
import type { IntentSubmission } from "@countersign/contract";

/** The part of an intent that its fingerprint leaves out, and that an approval must cover. */
export type Stakes = Pick<IntentSubmission["intent"], "agent" | "estimated_impact" | "data_classes">;

type Impact = NonNullable<Stakes["estimated_impact"]>;

/**
 * Whether an approval or override of one action covers an equal action: no impact is greater, its data classes and regulatory domains
 * are among the approved ones, and it is on behalf of the same person. An impact that only one of them declares is greater, because
 * nobody knows how great it is. The fingerprints must be equal.
 */
export function covers(approved: Stakes, equal: Stakes): boolean {
  const [most, asked] = [approved.estimated_impact ?? {}, equal.estimated_impact ?? {}];
  return (
    approved.agent.on_behalf_of === equal.agent.on_behalf_of &&
    isSubset(equal.data_classes, approved.data_classes) &&
    isSubset(asked.regulatory_domains, most.regulatory_domains) &&
    isAtMost(asked.financial_exposure_usd, most.financial_exposure_usd) &&
    isAtMost(asked.audience_size, most.audience_size) &&
    harmOf(asked) <= harmOf(most)
  );
}

function isSubset(some: readonly string[] = [], all: readonly string[] = []): boolean {
  return some.every((each) => all.includes(each));
}

function isAtMost(asked: number | undefined, most: number | undefined): boolean {
  if (asked === undefined || most === undefined) return asked === most;
  return asked <= most;
}

/** Ranks by whether the action can be undone: 0 it can, 1 nobody said, 2 it cannot. */
function harmOf({ reversible }: Impact): number {
  if (reversible === undefined) return 1;
  return reversible ? 0 : 2;
}
