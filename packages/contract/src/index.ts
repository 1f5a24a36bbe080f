/** Names, numbers and shapes that all packages share. Data without behaviour. */

export * from "./action-types.ts";
export * from "./audit-types.ts";
export * from "./error-codes.ts";
export * from "./event-types.ts";
export * from "./exact-number.ts";
export * from "./facts/assurance.ts";
export * from "./facts/index.ts";
export * from "./hidden-characters.ts";
export * from "./hidden-texts.ts";
export * from "./ids.ts";
export * from "./limits.ts";
export * from "./names.ts";
export { openapiDocument } from "./openapi/index.ts";
export { rateTable } from "./openapi/rate-table.ts";
export { tagDescriptions } from "./openapi/tags.ts";
export * from "./operations/index.ts";
export * from "./problem-codes.ts";
export * from "./pull-failures.ts";
export * from "./regrouped.ts";
export * from "./resources/index.ts";
export * from "./roles.ts";
export * from "./settings.ts";
export * from "./token-problems.ts";
export * from "./version.ts";
export * from "./yaml-findings.ts";
