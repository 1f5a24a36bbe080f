/** Warns about the people whom a policy requires, and their order. Refuses nothing, because people change. */
import type { PolicyDiagnostic } from "@countersign/contract";
import {
  demandOf,
  lateTier,
  orderWarning,
  type PolicyDocument,
  packSources,
  reachWarning,
  unitedReviewers,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { readDocumentsInForce } from "../../store/policies/policies.ts";
import { ableAmong } from "../people/reviewers.ts";
import type { Runtime } from "../runtime.ts";
import type { Packs } from "./read-packs.ts";

/**
 * Warns if the policy requires more people than the organization has, waits for a policy that is not in force, or is in
 * a cycle of policies that wait for each other.
 */
export function panelWarnings(
  { db }: Pick<Runtime, "db">,
  packs: Packs,
  org_id: string,
  document: PolicyDocument,
): Promise<PolicyDiagnostic[]> {
  return db.tenant(org_id, async (query) => {
    const membranes = await readMembranes(query, org_id);
    const in_force = await readDocumentsInForce(query, org_id);
    const rules = packSources(
      packs,
      membranes.flatMap((membrane) => membrane.packs),
    );
    const others = [...in_force, ...rules]
      .map((each) => each.document)
      .filter((other) => other.metadata.name !== document.metadata.name);
    const reach = await firstOutOfReach(query, org_id, document, membranes);
    const late = lateTier(document, membranes);
    const tier = late === null || late.refuses ? null : late.diagnostic;
    return [orderWarning(document, others), reach, tier].filter((each) => each !== null);
  });
}

async function firstOutOfReach(
  query: Query,
  org_id: string,
  { metadata, spec }: PolicyDocument,
  membranes: Awaited<ReturnType<typeof readMembranes>>,
): Promise<PolicyDiagnostic | null> {
  if (spec.effect !== "escalate" && spec.escalation === undefined) return null;
  const holding = { policy_id: "", name: metadata.name, escalation: spec.escalation ?? {}, approvals_min: 1 } as const;
  for (const { name, escalation } of membranes) {
    const { reviewers, quorum, tier } = demandOf(holding, escalation);
    const people = await ableAmong(query, org_id, unitedReviewers(reviewers, tier?.reviewers ?? []));
    const warning = reachWarning(quorum, people.length, name);
    if (warning !== null) return warning;
  }
  return null;
}
