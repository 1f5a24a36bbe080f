export { coverageMarkdown, factCoverage } from "./coverage.ts";
export { type CaseResult, loadPack, runPackCases } from "./load-pack.ts";
export {
  type PackCase,
  type PackDiagnostic,
  type PackFiles,
  type PackParsing,
  type ParsedPack,
  parsePack,
} from "./parse-pack.ts";
