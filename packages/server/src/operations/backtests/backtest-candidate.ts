import { type BacktestInput, limits } from "@countersign/contract";
import {
  type Candidate,
  checkPolicySteps,
  diagnostics_max,
  Fault,
  type FaultDetail,
  type PolicyDocument,
  suggestName,
} from "@countersign/core";
import { readPolicyNames } from "../../store/policies/policies.ts";
import type { Packs } from "../policies/read-packs.ts";
import type { Runtime } from "../runtime.ts";
import { inTurns } from "../shared/turns.ts";

type Needed = Pick<Runtime, "db" | "refuseUnknownPacks"> & { readonly packs: Packs };

/**
 * Null: no candidate, or one that changes nothing. Faults: policy_invalid with the diagnostics of every document,
 * invalid_request (packs, unknown names to leave out).
 */
export async function candidateOf(
  runtime: Needed,
  org_id: string,
  given: BacktestInput["candidate"],
): Promise<Candidate | null> {
  if (given === undefined) return null;
  const { packs, thresholds, without = [] } = given;
  if (packs !== undefined) refuseUnknownPacks(runtime, packs);
  const policies = await checkedPolicies(given.policies ?? []);
  if (without.length > 0) await refuseUnknownNames(runtime, org_id, without, policies);
  if (policies.length === 0 && packs === undefined && thresholds === undefined && without.length === 0) return null;
  return { policies, packs, thresholds, without };
}

function refuseUnknownPacks(runtime: Pick<Runtime, "refuseUnknownPacks">, packs: readonly string[]): void {
  try {
    runtime.refuseUnknownPacks(packs);
  } catch (error) {
    throw error instanceof Fault
      ? new Fault(error.code, { details: error.details.map((each) => placed(each, "/candidate")) })
      : error;
  }
}

/**
 * Refuses unknown names to leave out, because a typo would look like a rule without effect. Disabled packs, retired
 * policies and earlier versions count as known.
 */
async function refuseUnknownNames(
  { db, packs }: Pick<Needed, "db" | "packs">,
  org_id: string,
  names: readonly string[],
  candidate: readonly PolicyDocument[],
): Promise<void> {
  const own = await db.tenant(org_id, (query) => readPolicyNames(query, org_id));
  const rules = [...packs.values()].flatMap((pack) => pack.rules);
  const known = new Set([...own, ...[...candidate, ...rules].map(({ metadata }) => metadata.name)]);
  const unknown = names.flatMap((name, index) => (known.has(name) ? [] : [{ name, index }]));
  if (unknown.length === 0) return;
  throw new Fault("invalid_request", { details: await inTurns(unknownDetails(unknown, [...known])) });
}

/** One name per step, because each is compared with possibly tens of thousands. */
function* unknownDetails(
  unknown: readonly { readonly name: string; readonly index: number }[],
  known: readonly string[],
): Generator<void, FaultDetail[]> {
  const details: FaultDetail[] = [];
  for (const { name, index } of unknown.slice(0, limits.error_details_max)) {
    yield;
    const help = suggestName(name, known) ?? "Name a policy of yours or a rule of a pack.";
    const message = `There is no policy or rule ${JSON.stringify(name)}. ${help}`;
    details.push({ path: `/candidate/without/${index}`, code: "not_allowed", message });
  }
  return details;
}

async function checkedPolicies(given: readonly Readonly<Record<string, unknown>>[]): Promise<PolicyDocument[]> {
  const details: FaultDetail[] = [];
  const documents: PolicyDocument[] = [];
  const places = new Map<string, number>();
  for (const [index, each] of given.entries()) {
    const at = `/candidate/policies/${index}`;
    const { document, diagnostics } = await inTurns(checkPolicySteps(each));
    details.push(...diagnostics.map((one) => placed({ ...one }, at)));
    if (document !== null) {
      const { name } = document.metadata;
      const first = places.get(name);
      if (first === undefined) places.set(name, index);
      else details.push(twice(at, name, first));
      documents.push(document);
    }
    if (details.length > diagnostics_max) throw new Fault("policy_invalid", { details: shortened(details) });
  }
  if (details.length > 0) throw new Fault("policy_invalid", { details });
  return documents;
}

function shortened(details: readonly FaultDetail[]): FaultDetail[] {
  const message = `There are more than ${diagnostics_max} findings; the others are not listed.`;
  const help = "Correct those above, then try again.";
  return [...details.slice(0, diagnostics_max), { ...details[diagnostics_max], code: "more_findings", message, help }];
}

function placed(detail: FaultDetail, at: string): FaultDetail {
  return { ...detail, path: `${at}${detail["path"]}` };
}

function twice(at: string, name: string, first: number): FaultDetail {
  const message = `The candidate's policy ${first} is called ${name} too.`;
  const help = "Give each policy of a candidate a name of its own.";
  return { path: `${at}/metadata/name`, line: null, column: null, code: "not_allowed", message, help };
}
