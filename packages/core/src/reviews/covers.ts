import type { IntentSubmission } from "@countersign/contract";

/** The part excluded from the fingerprint that an approval must cover. */
export type Stakes = Pick<IntentSubmission["intent"], "agent" | "estimated_impact" | "data_classes">;

type Impact = NonNullable<Stakes["estimated_impact"]>;

/**
 * True if an approval or override covers an equal action: no impact is greater, data classes and domains are approved
 * ones, and the person served is the same. An impact declared by only one counts as greater. The fingerprints must be
 * equal.
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

/** 0: reversible, 1: not declared, 2: irreversible. */
function harmOf({ reversible }: Impact): number {
  if (reversible === undefined) return 1;
  return reversible ? 0 : 2;
}
