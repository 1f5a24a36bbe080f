/** Refuses two definitions of one counter (decision 0047). A counter belongs to the organization, so all membranes are compared. */
import type { Membrane, PolicyDiagnostic } from "@countersign/contract";
import { counterConflict, definesCounters, Fault, type PolicyDocument } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { readDocumentsInForce } from "../../store/policies/policies.ts";
import type { Runtime } from "../runtime.ts";

type Needs = Pick<Runtime, "packRules">;

/** Returns how a policy would define a counter differently from the policies and packs in force; null: it would not. */
export async function conflictInForce(
  runtime: Needs,
  query: Query,
  org_id: string,
  policy_id: string | null,
  document: PolicyDocument,
): Promise<PolicyDiagnostic | null> {
  if (!definesCounters(document)) return null;
  const own = (await readDocumentsInForce(query, org_id)).filter((each) =>
    policy_id === null ? each.document.metadata.name !== document.metadata.name : each.policy_id !== policy_id,
  );
  return counterConflict(document, [
    ...own.map((each) => each.document),
    ...rulesOf(runtime, await readMembranes(query, org_id)),
  ]);
}

/** Faults: policy_invalid. */
export async function refuseCounterConflict(
  runtime: Needs,
  query: Query,
  org_id: string,
  policy_id: string,
  document: PolicyDocument,
): Promise<void> {
  const conflict = await conflictInForce(runtime, query, org_id, policy_id, document);
  if (conflict !== null) throw new Fault("policy_invalid", { details: [{ ...conflict }] });
}

type Switches = Pick<Membrane, "packs" | "rules_off">;

/** Compares the rules that a membrane switches on. Faults: invalid_request. */
export async function refusePackConflicts(
  runtime: Needs,
  query: Query,
  org_id: string,
  before: Switches,
  after: Switches,
): Promise<void> {
  const known = new Set(rulesOf(runtime, [before]));
  const all = rulesOf(runtime, [after]);
  const begun = all.filter((rule) => !known.has(rule) && definesCounters(rule));
  if (begun.length === 0) return;
  const others = [
    ...(await readDocumentsInForce(query, org_id)).map(({ document }) => document),
    ...rulesOf(runtime, await readMembranes(query, org_id)),
    ...all,
  ];
  const details = begun.flatMap((rule) => {
    const conflict = counterConflict(rule, others);
    if (conflict === null) return [];
    const message = `${conflict.message} Here: in the rule ${rule.metadata.name}. Switch one of them off, or change your policy.`;
    return [{ path: "/packs", code: "not_allowed", message }];
  });
  if (details.length > 0) throw new Fault("invalid_request", { details });
}

function rulesOf({ packRules }: Needs, membranes: readonly Switches[]): readonly PolicyDocument[] {
  return membranes.flatMap(({ packs, rules_off }) => packRules(packs, rules_off));
}
