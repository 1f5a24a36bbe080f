export { actionCoverage, actionsMarkdown } from "./action-coverage.ts";
export { coverageMarkdown, factCoverage } from "./coverage.ts";
export { loadPack, runPackCases } from "./load-pack.ts";
export { parsePack } from "./parse-pack.ts";
