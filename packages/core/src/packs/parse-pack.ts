import type { FactsFrom } from "@countersign/contract";
import { checkPolicy } from "../policy/check/check.ts";
import { checkSchema } from "../policy/check/schema-check.ts";
import type { PolicyDocument, PolicyTestCase } from "../policy/document.ts";
import { locateText } from "../policy/locate-text.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../policy/located.ts";
import type { Schema } from "../policy/schema.ts";
import { parseTimestampUs } from "../time.ts";
import { factsReadBy } from "./coverage.ts";
import { packCaseSchema, packSchema } from "./schema.ts";

export interface PackFiles {
  /** Must be the name of the pack. */
  readonly folder: string;
  /** `pack.yaml` */
  readonly manifest: string;
  /** `policies/*.yaml` by file name. */
  readonly policies: ReadonlyMap<string, string>;
  /** `cases.jsonl` */
  readonly cases: string;
}

/** `file` is the path inside the pack's folder. */
export interface PackDiagnostic extends PolicyDiagnostic {
  readonly file: string;
}

/** A case tests one rule alone. */
export interface PackCase {
  readonly rule: string;
  readonly name: string;
  readonly now: string;
  readonly intent: Readonly<Record<string, unknown>>;
  readonly facts: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly as_of?: Readonly<Record<string, string>>;
  /** Earlier actions, as in the tests of a policy. */
  readonly counts?: NonNullable<PolicyTestCase["counts"]>;
  readonly after?: NonNullable<PolicyTestCase["after"]>;
  readonly expect: "approve" | "approve_modified" | "escalate" | "block";
  readonly outcome?: string;
  /** In `cases.jsonl`, from 1. */
  readonly line: number;
}

/** Rules have the order of `pack.yaml`. */
export interface ParsedPack {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly verified_on: string;
  readonly on_at_quickstart: boolean;
  /** For information: membranes and policies decide what counts. */
  readonly facts_from: FactsFrom;
  readonly rules: readonly PolicyDocument[];
  readonly cases: readonly PackCase[];
}

interface Manifest {
  readonly metadata: Readonly<Record<"name" | "title" | "description" | "version" | "verified_on", string>>;
  readonly spec: {
    readonly on_at_quickstart?: boolean;
    readonly facts_from: FactsFrom;
    readonly policies: readonly string[];
  };
}

export interface PackParsing {
  readonly pack: ParsedPack | null;
  readonly diagnostics: readonly PackDiagnostic[];
}

/**
 * Checks the manifest, every policy and every case. Returns all findings and never throws. `loadPack` also runs the
 * cases.
 */
export const parsePack = (files: PackFiles): PackParsing => {
  const diagnostics: PackDiagnostic[] = [];
  const manifest = readManifest(files, diagnostics);
  const documents = readPolicies(files, diagnostics);
  if (manifest !== null) checkList(files, manifest, documents, diagnostics);
  if (manifest !== null) checkNeeds(manifest, documents, diagnostics);
  const cases = readCases(files, new Set(manifest?.spec.policies ?? documents.keys()), diagnostics);
  if (manifest === null || diagnostics.length > 0) return { pack: null, diagnostics };
  const { metadata, spec } = manifest;
  const rules = spec.policies.map((name) => documents.get(name)).filter((document) => document !== undefined);
  const { facts_from, on_at_quickstart = false } = spec;
  return { pack: { ...metadata, on_at_quickstart, facts_from, rules, cases }, diagnostics };
};

const complain = (
  file: string,
  code: string,
  message: string,
  help: string,
  line: number | null = null,
): PackDiagnostic => ({
  file,
  path: "",
  line,
  column: line === null ? null : 1,
  code,
  message,
  help,
});

const findings = (located: Located, schema: Schema): { value: unknown; diagnostics: readonly PolicyDiagnostic[] } => {
  const diagnostics = located.diagnostics.length > 0 ? located.diagnostics : checkSchema(located, schema);
  return { value: located.value, diagnostics };
};

const readManifest = (files: PackFiles, diagnostics: PackDiagnostic[]): Manifest | null => {
  const { value, diagnostics: found } = findings(locateText(files.manifest), packSchema);
  diagnostics.push(...found.map((one) => ({ ...one, file: "pack.yaml" })));
  if (found.length > 0) return null;
  const manifest = value as Manifest;
  if (manifest.metadata.name !== files.folder) {
    const help = `Write name: ${files.folder}, or rename the folder.`;
    diagnostics.push(
      complain(
        "pack.yaml",
        "not_allowed",
        `The pack ${manifest.metadata.name} lies in the folder ${files.folder}.`,
        help,
      ),
    );
  }
  return manifest;
};

const readPolicies = (files: PackFiles, diagnostics: PackDiagnostic[]): ReadonlyMap<string, PolicyDocument> => {
  const documents = new Map<string, PolicyDocument>();
  for (const [name, text] of files.policies) {
    const file = `policies/${name}`;
    const checked = checkPolicy(text);
    diagnostics.push(...checked.diagnostics.map((one) => ({ ...one, file })));
    if (checked.document === null) continue;
    const policy = checked.document.metadata.name;
    if (`${policy}.yaml` !== name) {
      diagnostics.push(
        complain(file, "not_allowed", `The policy ${policy} lies in ${name}.`, `Rename the file to ${policy}.yaml.`),
      );
    }
    documents.set(policy, checked.document);
  }
  return documents;
};

/** Finds policies that only the manifest or only the folder has, and `suppresses` of another pack's policy. */
const checkList = (
  files: PackFiles,
  { spec }: Manifest,
  documents: ReadonlyMap<string, PolicyDocument>,
  diagnostics: PackDiagnostic[],
): void => {
  for (const name of spec.policies.filter((listed) => !files.policies.has(`${listed}.yaml`))) {
    diagnostics.push(
      complain(
        "pack.yaml",
        "required",
        `The policy ${name} has no file.`,
        `Add policies/${name}.yaml, or take it off the list.`,
      ),
    );
  }
  for (const name of [...documents.keys()].filter((found) => !spec.policies.includes(found))) {
    diagnostics.push(
      complain(
        `policies/${name}.yaml`,
        "not_allowed",
        `The policy ${name} is not in pack.yaml.`,
        "Add it to spec.policies.",
      ),
    );
  }
  for (const [name, document] of documents) {
    for (const other of (document.spec.suppresses ?? []).filter((suppressed) => !spec.policies.includes(suppressed))) {
      const help = "A policy suppresses only policies of its own pack.";
      diagnostics.push(
        complain(`policies/${name}.yaml`, "unknown_name", `There is no policy ${other} in this pack.`, help),
      );
    }
  }
};

const checkNeeds = (
  { spec }: Manifest,
  documents: ReadonlyMap<string, PolicyDocument>,
  diagnostics: PackDiagnostic[],
): void => {
  const read = new Set([...documents.values()].flatMap((document) => [...factsReadBy(document)]));
  for (const path of [...read].sort()) {
    const [category = ""] = path.split(".");
    if (Object.hasOwn(spec.facts_from, path) || Object.hasOwn(spec.facts_from, category)) continue;
    const help = `Add ${path} or ${category} to spec.facts_from.`;
    diagnostics.push(complain("pack.yaml", "required", `The assurance that ${path} needs is not said.`, help));
  }
};

/** Locates lines only, no columns. Reading 600 cases as YAML took 250 ms of every start. */
const locateLine = (text: string, line: number): Located => {
  const placeOf = () => ({ line, column: null });
  try {
    return { value: JSON.parse(text), diagnostics: [], placeOf };
  } catch {
    const finding = { code: "syntax", message: "The line is not JSON.", help: "Write one JSON object a line." };
    return { value: null, diagnostics: [diagnose({ placeOf }, "", finding)], placeOf };
  }
};

const timesOf = ({ now, as_of = {}, after = {} }: PackCase): string[] => [
  now,
  ...Object.values(as_of),
  ...Object.values(after).map(({ at }) => at),
];

const readCases = (files: PackFiles, names: ReadonlySet<string>, diagnostics: PackDiagnostic[]): PackCase[] => {
  const file = "cases.jsonl";
  const cases: PackCase[] = [];
  for (const [index, text] of files.cases.split("\n").entries()) {
    if (text.trim() === "") continue;
    const line = index + 1;
    const { value, diagnostics: found } = findings(locateLine(text, line), packCaseSchema);
    diagnostics.push(...found.map((one) => ({ ...one, file })));
    if (found.length > 0) continue;
    const one = { ...(value as Omit<PackCase, "line">), line };
    if (!names.has(one.rule)) {
      diagnostics.push(
        complain(
          file,
          "unknown_name",
          `There is no policy ${one.rule} in this pack.`,
          "Name one of its policies.",
          line,
        ),
      );
    } else if (timesOf(one).some((time) => parseTimestampUs(time) === null)) {
      diagnostics.push(
        complain(
          file,
          "bad_format",
          "A time of this case is no date-time.",
          "Write it like 2026-01-01T00:00:00Z.",
          line,
        ),
      );
    } else cases.push(one);
  }
  return cases;
};
