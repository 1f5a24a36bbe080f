/** Checks decisions and policies of an archive. */
import { hash } from "node:crypto";
import type { ExportedDecision } from "@countersign/core";
import { type CheckedReceipts, type DecisionLeaf, submittedHash } from "./check-receipts.ts";
import { type Checking, eachLine } from "./checking.ts";
import { type InForce, names, policyName } from "./layout.ts";
import { Damaged } from "./zip-reader.ts";

const file_bytes_max = 64 * 1_048_576;

/** Returns the number of decisions, each of which must agree with its receipt. */
export async function checkRecords(checking: Checking, { decisions }: CheckedReceipts): Promise<number> {
  const { problems, manifest } = checking;
  const seen = new Set<string>();
  await eachLine<ExportedDecision>(checking, names.decisions, ({ intent, decision }) => {
    const { intent_id } = intent;
    const leaf = decisions.get(intent_id);
    if (seen.has(intent_id)) problems.add(`${intent_id} is in ${names.decisions} twice`);
    seen.add(intent_id);
    if (leaf === undefined) problems.add(`${intent_id} is in ${names.decisions}, and has no receipt that holds`);
    else if (!agrees({ intent, decision }, leaf))
      problems.add(`${intent_id} in ${names.decisions} contradicts its receipt`);
  });
  for (const intent_id of decisions.keys())
    if (!seen.has(intent_id)) problems.add(`${intent_id} has a receipt, and is missing in ${names.decisions}`);
  if (seen.size !== manifest.decisions)
    problems.add(`${names.manifest} counts ${manifest.decisions} decisions, and ${names.decisions} has ${seen.size}`);
  return seen.size;
}

function agrees({ intent, decision }: ExportedDecision, leaf: DecisionLeaf): boolean {
  return (
    decision.decision_id === leaf.decision_id &&
    decision.verdict === leaf.verdict &&
    intent.agent.id === leaf.agent_id &&
    intent.membrane_id === leaf.membrane_id &&
    intent.pipeline_mode === leaf.mode &&
    (intent.submitted_by.id ?? "system") === leaf.actor &&
    intent.submitted_at === leaf.at &&
    (leaf.submitted === null || submittedHash(intent) === leaf.submitted)
  );
}

/** Returns the number of policy versions, each of which must have its hash. */
export async function checkPolicies({ zip, problems }: Checking): Promise<number> {
  let in_force: InForce;
  try {
    in_force = JSON.parse((await zip.bytes(names.in_force, file_bytes_max)).toString("utf8"));
  } catch (error) {
    if (error instanceof Damaged) throw error;
    throw new Damaged(`${names.in_force} is not JSON`);
  }
  const checked = new Set<string>();
  if (!Array.isArray(in_force?.policies)) throw new Damaged(`${names.in_force} has no list of policies`);
  for (const { policy_id, version, sha256 } of in_force.policies) {
    const file = policyName(policy_id, version);
    if (checked.has(`${file} ${sha256}`)) continue;
    checked.add(`${file} ${sha256}`);
    if (hash("sha256", await zip.bytes(file, file_bytes_max)) !== sha256)
      problems.add(`${file} has another hash than ${names.in_force} says`);
  }
  return checked.size;
}
