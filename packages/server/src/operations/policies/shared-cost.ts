import type { MembraneChange, PolicyDiagnostic } from "@countersign/contract";
import {
  type CostlyPolicy,
  canMeet,
  costSteps,
  folded,
  type PolicyDocument,
  packSources,
  policySha256,
  sharedBudgetSteps,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { readDocumentsInForce, type StoredPolicy } from "../../store/policies/policies.ts";
import type { Runtime } from "../runtime.ts";
import { inTurns } from "../shared/turns.ts";
import type { Packs } from "./read-packs.ts";

/** Costs by the document's SHA-256. A cost takes 0.5 ms, and each activation needs those of all policies in force. */
const costs = new LRUCache<string, number>({ max: 20_000 });

/**
 * Warns if an activated policy and others that match the same action can exhaust the shared budget of one decision.
 * Live policies are checked with each membrane's packs; shadow policies have a separate budget.
 */
export async function sharedCostWarnings(
  { db }: Pick<Runtime, "db">,
  packs: Packs,
  org_id: string,
  { policy_id, status, document, sha256 }: StoredPolicy,
): Promise<PolicyDiagnostic[]> {
  const { membranes, in_force } = await db.tenant(org_id, async (query) => ({
    membranes: await readMembranes(query, org_id),
    in_force: await readDocumentsInForce(query, org_id),
  }));
  const own = in_force.filter((each) => each.mode === status && each.policy_id !== policy_id);
  const settings = status === "live" ? membranes : [{ packs: [], rules_off: [] }];
  const distinct = new Map(settings.map((each) => [JSON.stringify([each.packs, each.rules_off]), each]));
  const policy = await costly(document, sha256);
  for (const membrane of distinct.values()) {
    const others: CostlyPolicy[] = [];
    for (const each of [...own, ...packSources(packs, membrane.packs, membrane.rules_off)]) {
      if (!canMeet(policy.match, folded(each.document.spec.match ?? {}))) continue;
      others.push(await costly(each.document, "sha256" in each ? each.sha256 : policySha256(each.document)));
    }
    const warning = await inTurns(sharedBudgetSteps([policy], others));
    if (warning !== null) return [warning];
  }
  return [];
}

/**
 * Warns if rules of these packs and live policies that match the same action can exhaust the budget of one decision.
 */
export async function packCostWarnings(
  { db }: Pick<Runtime, "db">,
  packs: Packs,
  org_id: string,
  { packs: names = [], rules_off = [] }: Pick<MembraneChange, "packs" | "rules_off">,
): Promise<PolicyDiagnostic[]> {
  const in_force = await db.tenant(org_id, (query) => readDocumentsInForce(query, org_id));
  const rules: CostlyPolicy[] = [];
  for (const { document } of packSources(packs, names, rules_off))
    rules.push(await costly(document, policySha256(document)));
  const own: CostlyPolicy[] = [];
  for (const each of in_force) if (each.mode === "live") own.push(await costly(each.document, each.sha256));
  const warning = await inTurns(sharedBudgetSteps(rules, own));
  if (warning === null) return [];
  const help =
    "Switch on fewer packs, or let policies of your own match fewer actions. What is over the budget is unknown: a blocking policy " +
    "then blocks the action.";
  return [{ ...warning, path: "/packs", help }];
}

async function costly(document: PolicyDocument, sha256: string): Promise<CostlyPolicy> {
  const units = costs.get(sha256) ?? (await inTurns(costSteps(document))).units;
  costs.set(sha256, units);
  return { name: document.metadata.name, match: folded(document.spec.match ?? {}), units };
}
