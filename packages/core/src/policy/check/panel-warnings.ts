/** Warnings that depend on the rest of the organization. */
import { parseDurationSeconds } from "../../time.ts";
import type { PolicyDocument } from "../document.ts";
import { membrane_demand_name } from "../escalation-terms.ts";
import type { PolicyDiagnostic } from "../located.ts";

type OrderedDocument = Pick<PolicyDocument, "metadata" | "spec">;

/** Warns if a policy waits for one that is not in force (`others`), or if policies wait for each other. */
export function orderWarning(
  { metadata, spec }: OrderedDocument,
  others: readonly OrderedDocument[],
): PolicyDiagnostic | null {
  const after = spec.escalation?.after;
  if (after === undefined || after === membrane_demand_name) return null;
  const afterOf = new Map(others.map((other) => [other.metadata.name, other.spec.escalation?.after]));
  if (!afterOf.has(after))
    return warning(
      "/spec/escalation/after",
      `No policy in force has the name ${after}, so nothing waits for its reviewers.`,
      "Correct the name, or activate that policy.",
    );
  const chain = [metadata.name];
  for (let next: string | undefined = after; next !== undefined && !chain.includes(next); next = afterOf.get(next)) {
    chain.push(next);
    if (afterOf.get(next) === metadata.name)
      return warning(
        "/spec/escalation/after",
        `These policies wait for each other: ${[...chain, metadata.name].join(" → ")}. So none of them waits.`,
        "Remove `after` from one of them.",
      );
  }
  return null;
}

interface LimitingMembrane {
  readonly name: string;
  readonly escalation: { readonly timeout_seconds: number };
}

/**
 * Reports a second tier that opens only after the membrane's timeout. `refuses`: true if this holds in all membranes.
 */
export function lateTier(
  { spec }: Pick<PolicyDocument, "spec">,
  membranes: readonly LimitingMembrane[],
): { readonly refuses: boolean; readonly diagnostic: PolicyDiagnostic } | null {
  const { then, timeout } = spec.escalation ?? {};
  if (then === undefined || timeout !== undefined) return null;
  const after = parseDurationSeconds(then.after) ?? 0;
  const late = membranes.filter(({ escalation }) => after >= escalation.timeout_seconds);
  const [first] = late;
  if (first === undefined) return null;
  const message =
    `The second reviewers would be asked after ${then.after}, but in the membrane ${first.name} the review ends after ` +
    `${first.escalation.timeout_seconds} seconds.`;
  const help = "Write a shorter duration, or give the policy a longer timeout.";
  const about = { path: "/spec/escalation/then/after", line: null, column: null };
  return { refuses: late.length === membranes.length, diagnostic: { ...about, code: "out_of_range", message, help } };
}

/** Warns if too few people could approve. `people`: how many different people could. */
export function reachWarning(asked: number, people: number, membrane: string): PolicyDiagnostic | null {
  if (people >= asked) return null;
  const who = people === 0 ? "nobody who may" : people === 1 ? "only 1 person who may" : `only ${people} who may`;
  return warning(
    "/spec/escalation",
    `The policy asks for approvals of ${asked} different people; in the membrane ${membrane} your organization has ${who}.`,
    "Invite reviewers, name others, or ask for fewer. Until then nobody can approve what this policy holds.",
  );
}

function warning(path: string, message: string, help: string): PolicyDiagnostic {
  return { path, line: null, column: null, code: "not_allowed", message, help };
}
