/**
 * Checks whether this release accepts the active policies. An earlier release may have accepted some that are refused
 * now.
 */
import { checkPolicy, type PolicyDocument } from "@countersign/core";
import type { Instance } from "@countersign/server";
import { startPercentProgress } from "../percent-progress.ts";
import type { Output } from "../terminal.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** At most this many policies are named; the others are counted. */
const named_max = 10;

/** Checks the active policies of all organizations of a migrated database. Shows its progress on `stderr`. */
export async function checkPolicies(instance: Instance, stderr: Output): Promise<Finding[]> {
  const refused: string[] = [];
  let in_force = 0;
  const organizations = await instance.organizations.list();
  // Takes milliseconds for each policy, and large instances have tens of thousands.
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

/** Returns the effect of a rule with a part that cannot be evaluated. Source: docs/reference/policies.md. */
function effectOf({ effect, on_unknown = effect === "none" ? "skip" : "escalate" }: PolicyDocument["spec"]): string {
  const does = {
    fire: "acts as if it matched",
    escalate: "asks a person",
    block: "blocks",
    skip: "stands aside",
  }[on_unknown];
  return `A part that cannot be evaluated is unknown: the policy ${does}.`;
}
