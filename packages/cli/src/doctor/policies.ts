/** Checks whether this release accepts the active policies. An earlier one may have accepted more. */
import { checkPolicy, type PolicyDocument } from "@countersign/core";
import type { Instance } from "@countersign/server";
import { startPercentProgress } from "../percent-progress.ts";
import type { Output } from "../terminal.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** Findings name at most this many policies and count the others. */
const named_max = 10;

/** Expects a migrated database. Shows its progress on `stderr`. */
export async function checkPolicies(instance: Instance, stderr: Output): Promise<Finding[]> {
  const refused: string[] = [];
  let in_force = 0;
  const organizations = await instance.organizations.list();
  // Takes milliseconds for each of up to tens of thousands of policies.
  const progress = startPercentProgress(stderr);
  try {
    for (const [index, { org_id }] of organizations.entries()) {
      for (const { version, document } of await instance.policies.inForce(org_id)) {
        in_force += 1;
        progress.report(index / organizations.length, `${in_force} active policies checked`);
        const [first] = checkPolicy({ ...document }).diagnostics;
        if (first === undefined) continue;
        const where = `${org_id}: ${document.metadata.name}, version ${version}, ${first.path}`;
        refused.push(`${where}: ${first.message} ${effectOf(document.spec)}`);
      }
    }
  } finally {
    progress.end();
  }
  if (in_force === 0) return [ok("policies", "no organization has an active policy of its own")];
  if (refused.length === 0) return [ok("policies", `this release accepts all ${in_force} active policies`)];
  const advice = "activate a version that `countersign policies check` accepts";
  const findings = refused.slice(0, named_max).map((text) => problem("policies", text, advice));
  const more = refused.length - findings.length;
  return more === 0
    ? findings
    : [...findings, problem("policies", `${more} more of ${in_force} active policies`, advice)];
}

/** Returns the effect of a rule that cannot be evaluated fully. See docs/reference/policies.md. */
function effectOf({ effect, on_unknown = effect === "none" ? "skip" : "escalate" }: PolicyDocument["spec"]): string {
  const does = {
    fire: "acts as if it matched",
    escalate: "asks a person",
    block: "blocks",
    skip: "stands aside",
  }[on_unknown];
  return `A part that cannot be evaluated is unknown: the policy ${does}.`;
}
