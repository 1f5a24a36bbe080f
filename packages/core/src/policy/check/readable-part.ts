import { isRecord } from "../../functions/text.ts";
import type { PolicyDocument } from "../document.ts";
import { policySchema, type Schema } from "../schema.ts";
import type { SourceDocument } from "../source.ts";
import { collectFindings } from "./findings.ts";
import { checkPart } from "./schema-check.ts";

/** What can be read of a document whose form is wrong. */
export interface ReadablePart {
  /** Without the members of its metadata and spec, and the tests, that are not as they should be. */
  readonly document: PolicyDocument;
  /** Its spec is as it should be. */
  readonly spec_fits: boolean;
  /** What expressions may refer to is known: they can be checked. */
  readonly variables_fit: boolean;
}

/** Lets whoever mends the form hear at once what else is wrong. Null: there is no spec to read. */
export function readablePart(source: SourceDocument): ReadablePart | null {
  const value = source.value as Members;
  if (!isRecord(value) || !isRecord(value["spec"])) return null;
  const { spec } = value;
  const document = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: fittingMembers(source, value["metadata"], "/metadata"),
    spec: fittingMembers(source, spec, "/spec"),
    tests: fits(source, value["tests"], "/tests", schemaAt("/tests")) ? value["tests"] : [],
  } as unknown as PolicyDocument;
  return {
    document,
    spec_fits: fits(source, spec, "/spec", schemaAt("/spec")),
    variables_fit: Object.hasOwn(spec, "variables") ? document.spec.variables !== undefined : !mayHoldVariables(value),
  };
}

/** A list in the spec or beside it, under a name that nothing has here: the variables, misspelt or misplaced. */
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

function fittingMembers(source: SourceDocument, value: unknown, path: "/metadata" | "/spec"): Members {
  if (!isRecord(value)) return {};
  const known = schemaAt(path).properties ?? {};
  const fitting = Object.entries(value).filter(
    ([name, member]) => Object.hasOwn(known, name) && fits(source, member, `${path}/${name}`, known[name] as Schema),
  );
  return Object.fromEntries(fitting);
}

function fits(source: SourceDocument, value: unknown, path: string, schema: Schema): boolean {
  const findings = collectFindings();
  checkPart({ value, path, source, findings, help: null }, schema);
  return findings.list().length === 0;
}
