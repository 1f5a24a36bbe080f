import type { PolicyDocument } from "../policy/document.ts";
import { type PolicyDiagnostic, shown } from "../policy/located.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { afterMembers, countMembers } from "./definition.ts";

type Defining = Pick<PolicyDocument, "metadata" | "spec">;

interface Definition {
  readonly path: string;
  readonly name: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly written: Readonly<Record<string, unknown>>;
}

/** Whether a document defines counters or earlier actions. */
export function definesCounters({ spec }: Defining): boolean {
  return (spec.counters ?? []).length > 0 || (spec.after ?? []).length > 0;
}

/**
 * Returns the first counter or earlier action that another policy defines differently; null: none. Decisions could not know which
 * definition is right.
 */
export function counterConflict(document: Defining, others: readonly Defining[]): PolicyDiagnostic | null {
  const own = definitionsOf(document);
  if (own.size === 0) return null;
  for (const other of others)
    for (const [name, theirs] of definitionsOf(other)) {
      const ours = own.get(name);
      const member = ours === undefined ? undefined : differing(ours, theirs);
      if (ours === undefined || member === undefined) continue;
      const written = (side: Definition): string => shown(JSON.stringify(side.written[member] ?? null));
      return {
        path: `${ours.path}/${member}`,
        line: null,
        column: null,
        code: "not_allowed",
        message:
          `The policy ${other.metadata.name} defines ${name} with another ${member}: ${written(theirs)}. ` +
          `Here it is ${written(ours)}.`,
        help: `Write the same ${member} in both policies, or give one of the two another name.`,
      };
    }
  return null;
}

function definitionsOf({ spec }: Defining): ReadonlyMap<string, Definition> {
  const counters = (spec.counters ?? []).map((counter, at): Definition => {
    const path = `/spec/counters/${at}`;
    return { path, name: `count.${counter.name}`, members: countMembers(counter), written: { ...counter } };
  });
  const after = (spec.after ?? []).map((action, at): Definition => {
    const path = `/spec/after/${at}`;
    return { path, name: `after.${action.name}`, members: afterMembers(action), written: { ...action } };
  });
  return new Map([...counters, ...after].map((each) => [each.name, each]));
}

function differing(ours: Definition, theirs: Definition): string | undefined {
  return Object.keys(ours.members).find(
    (member) => canonicalJson(ours.members[member]) !== canonicalJson(theirs.members[member]),
  );
}
