import { isRecord } from "../../functions/text.ts";
import type { PolicyDocument } from "../document.ts";
import type { Located } from "../located.ts";
import { policySchema, type Schema } from "../schema.ts";
import { collectFindings } from "./findings.ts";
import { checkPart } from "./schema-check.ts";

export interface ReadablePart {
  /** The document without invalid members of metadata and spec, and without invalid tests. */
  readonly document: PolicyDocument;
  readonly spec_fits: boolean;
  /** Without known variables, expressions cannot be checked. */
  readonly variables_fit: boolean;
}

/** Lets authors see all findings of a malformed document at once. Null without a spec. */
export function readablePart(located: Located): ReadablePart | null {
  const value = located.value as Members;
  if (!isRecord(value) || !isRecord(value["spec"])) return null;
  const { spec } = value;
  const document = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: fittingMembers(located, value["metadata"], "/metadata"),
    spec: fittingMembers(located, spec, "/spec"),
    tests: fits(located, value["tests"], "/tests", schemaAt("/tests")) ? value["tests"] : [],
  } as unknown as PolicyDocument;
  return {
    document,
    spec_fits: fits(located, spec, "/spec", schemaAt("/spec")),
    variables_fit: Object.hasOwn(spec, "variables") ? document.spec.variables !== undefined : !mayHoldVariables(value),
  };
}

/** True if an unknown field holds a list, which may be misspelled or misplaced variables. */
function mayHoldVariables(document: Members): boolean {
  const { variables: _, ...others } = { ...policySchema.properties, ...schemaAt("/spec").properties };
  return [...Object.entries(document), ...Object.entries(document["spec"] as Members)].some(
    ([name, member]) => Array.isArray(member) && !Object.hasOwn(others, name),
  );
}

type Members = Readonly<Record<string, unknown>>;

function schemaAt(path: "/metadata" | "/spec" | "/tests"): Schema {
  return policySchema.properties?.[path.slice(1)] as Schema;
}

function fittingMembers(located: Located, value: unknown, path: "/metadata" | "/spec"): Members {
  if (!isRecord(value)) return {};
  const known = schemaAt(path).properties ?? {};
  const fitting = Object.entries(value).filter(
    ([name, member]) => Object.hasOwn(known, name) && fits(located, member, `${path}/${name}`, known[name] as Schema),
  );
  return Object.fromEntries(fitting);
}

function fits(located: Located, value: unknown, path: string, schema: Schema): boolean {
  const findings = collectFindings();
  checkPart({ value, path, located, findings, help: null }, schema);
  return findings.list().length === 0;
}
