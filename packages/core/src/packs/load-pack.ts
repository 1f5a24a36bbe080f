import { compilePolicySet, type PolicySet } from "../deciding/policy-set.ts";
import { decideTest } from "../deciding/run-tests.ts";
import {
  type PackCase,
  type PackDiagnostic,
  type PackFiles,
  type PackParsing,
  type ParsedPack,
  parsePack,
} from "./parse-pack.ts";

/** `failure` is null for a passed case. */
export interface CaseResult {
  readonly case: PackCase;
  readonly verdict: string;
  readonly failure: string | null;
}

/**
 * Decides every case with its rule alone. A case that expects more than approve must find its rule among the reasons.
 * Claims in payload.content count as attested.
 */
export const runPackCases = (pack: ParsedPack): CaseResult[] => {
  const sets = new Map<string, PolicySet>();
  for (const document of pack.rules) {
    const { name } = document.metadata;
    const source = { policy_id: `pol_${name}`, version: 1, document, mode: "live" as const, pack: pack.name };
    sets.set(name, compilePolicySet({ policies: [source], version: 1 }));
  }
  return pack.cases.map((one) => {
    const policySet = sets.get(one.rule);
    if (policySet === undefined) throw new RangeError(`no policy ${one.rule} in the pack ${pack.name}`);
    return decideCase(one, policySet);
  });
};

const decideCase = (one: PackCase, policySet: PolicySet): CaseResult => {
  const { verdict, reasons } = decideTest({ ...one, expect: {} }, policySet).content;
  const named = reasons.some(({ policy }) => policy === one.rule);
  const failure =
    verdict !== one.expect
      ? `expected ${one.expect}, got ${verdict}`
      : verdict !== "approve" && !named
        ? `${verdict}, but ${one.rule} is not among the reasons`
        : null;
  return { case: one, verdict, failure };
};

/** Returns the pack, or all findings. A failed case is a finding. */
export const loadPack = (files: PackFiles): PackParsing => {
  const { pack, diagnostics } = parsePack(files);
  if (pack === null) return { pack, diagnostics };
  const red = runPackCases(pack).filter(({ failure }) => failure !== null);
  if (red.length === 0) return { pack, diagnostics };
  return { pack: null, diagnostics: red.map(redCase) };
};

const redCase = ({ case: one, failure }: CaseResult): PackDiagnostic => ({
  file: "cases.jsonl",
  path: "",
  line: one.line,
  column: 1,
  code: "red_case",
  message: `${one.rule}, ${one.name}: ${failure}.`,
  help: "Correct the policy or the case.",
});
