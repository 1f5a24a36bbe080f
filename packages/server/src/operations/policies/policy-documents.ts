import type { PolicyCheck, PolicyDiagnostic, PolicyInput } from "@countersign/contract";
import {
  type CheckedPolicy,
  checkPolicySteps,
  Fault,
  lateTier,
  locateObject,
  type PolicyDocument,
  policyTestSteps,
  redTestDiagnostics,
  typedParameterSteps,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readMembranes } from "../../store/membranes/membranes.ts";
import { conflictInForce } from "../counters/refuse-conflicts.ts";
import type { Runtime } from "../runtime.ts";
import { inTurns } from "../shared/turns.ts";
import { panelWarnings } from "./panel-warnings.ts";
import { parameterWarnings } from "./parameter-warnings.ts";
import type { Packs } from "./read-packs.ts";

function checkInput({ policy, tests = [] }: PolicyInput): Promise<CheckedPolicy> {
  const inside = policy["tests"];
  const asItIs = tests.length === 0 || (inside !== undefined && !Array.isArray(inside));
  const document = asItIs ? policy : { ...policy, tests: [...((inside as unknown[]) ?? []), ...tests] };
  return inTurns(checkPolicySteps(document));
}

export async function acceptedDocument(input: PolicyInput): Promise<PolicyDocument> {
  const { document, diagnostics } = await checkInput(input);
  if (document === null) throw invalid(diagnostics);
  return document;
}

export async function refuseRedTests(document: PolicyDocument): Promise<void> {
  const red = await redTests(document);
  if (red.length > 0) throw invalid(red);
}

/** Faults: policy_invalid if the second tier could open in no membrane. */
export async function refuseLateTier(query: Query, org_id: string, document: PolicyDocument): Promise<void> {
  if (document.spec.escalation?.then === undefined) return;
  const late = lateTier(document, await readMembranes(query, org_id));
  if (late?.refuses === true) throw invalid([late.diagnostic]);
}

/** Checks a policy without saving, including its tests, the membranes' tools, and people and policies of panels. */
export async function checkPolicyInput(
  runtime: Pick<Runtime, "db" | "clock" | "packRules">,
  packs: Packs,
  org_id: string,
  input: PolicyInput,
): Promise<PolicyCheck> {
  const { db, packRules } = runtime;
  const { document, diagnostics, warnings, located } = await checkInput(input);
  if (document === null) return { valid: false, diagnostics: [...diagnostics], warnings: [...warnings] };
  const red = await redTests(document);
  const membranes = await db.tenant(org_id, (query) => readMembranes(query, org_id));
  const tools = membranes.flatMap(({ action_catalogue }) => action_catalogue);
  const typed = await inTurns(typedParameterSteps(document, located, tools));
  const unrecorded = await parameterWarnings(runtime, org_id, { document, located, membranes });
  const panels = await panelWarnings({ db }, packs, org_id, document);
  const late = lateTier(document, membranes);
  const conflict = await db.tenant(org_id, (query) => conflictInForce({ packRules }, query, org_id, null, document));
  const conflicts = conflict === null ? [] : [{ ...conflict, ...located.placeOf(conflict.path) }];
  const wrong = late?.refuses === true ? [...red, late.diagnostic] : red;
  const all = [...warnings, ...typed, ...unrecorded, ...panels, ...conflicts];
  return { valid: wrong.length === 0, diagnostics: wrong, warnings: all };
}

export async function redTests(document: PolicyDocument): Promise<PolicyDiagnostic[]> {
  return redTestDiagnostics(await inTurns(policyTestSteps(document)), locateObject({ ...document }));
}

function invalid(diagnostics: readonly PolicyDiagnostic[]): Fault {
  return new Fault("policy_invalid", { details: diagnostics.map((each) => ({ ...each })) });
}
