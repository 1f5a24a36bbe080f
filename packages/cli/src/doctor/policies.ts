/** Whether this release takes the policies that are in force: one of an earlier release may have been let in with what is refused now. */
import { checkPolicy, type PolicyDocument } from "@countersign/core";
import type { Instance } from "@countersign/server";
import { startPercentProgress } from "../percent-progress.ts";
import type { Output } from "../terminal.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** So many are named; the others are counted. */
const named_max = 10;

/** Checks what is in force in all organizations of a migrated database, and shows on `stderr` how far it is. */
export async function checkPolicies(instance: Instance, stderr: Output): Promise<Finding[]> {
  const refused: string[] = [];
  let in_force = 0;
  const organizations = await instance.organizations.list();
  // Some milliseconds for each policy: a large instance has tens of thousands.
  const progress = startPercentProgress(stderr);
  try {
    for (const [index, { org_id }] of organizations.entries()) {
      for (const { version, document } of await instance.policies.inForce(org_id)) {
        in_force += 1;
        progress.told(index / organizations.length, `${in_force} policies in force checked`);
        const [first] = checkPolicy({ ...document }).diagnostics;
        if (first === undefined) continue;
        const where = `${org_id}: ${document.metadata.name}, version ${version}, ${first.path}`;
        refused.push(`${where}: ${first.message} ${effectOf(document.spec)}`);
      }
    }
  } finally {
    progress.end();
  }
  if (in_force === 0) return [ok("policies", "none of an organization's own is in force")];
  if (refused.length === 0) return [ok("policies", `this release takes all ${in_force} that are in force`)];
  const advice = "activate a version that `countersign policies check` accepts";
  const findings = refused.slice(0, named_max).map((text) => problem("policies", text, advice));
  const more = refused.length - findings.length;
  return more === 0 ? findings : [...findings, problem("policies", `${more} more of ${in_force} in force`, advice)];
}

/** What a rule of which something cannot be evaluated does. Source: policies.md §3. */
function effectOf({ effect, on_unknown = effect === "none" ? "skip" : "escalate" }: PolicyDocument["spec"]): string {
  const does = {
    fire: "acts as if it held",
    escalate: "asks a person",
    block: "blocks",
    skip: "stands aside",
  }[on_unknown];
  return `What cannot be evaluated is unknown: the policy ${does}.`;
}
