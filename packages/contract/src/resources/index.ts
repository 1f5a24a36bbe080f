/** The shapes of everything that goes over the wire: a TypeBox schema and its type under one name. */

export * from "./api-key.ts";
export * from "./audit.ts";
export * from "./backtest.ts";
export * from "./caller.ts";
export * from "./context.ts";
export * from "./coverage.ts";
export * from "./decision.ts";
export * from "./error.ts";
export * from "./escalation.ts";
export * from "./event.ts";
export * from "./health.ts";
export * from "./intent.ts";
export * from "./membrane.ts";
export * from "./onboarding.ts";
export * from "./override.ts";
export * from "./overview.ts";
export * from "./person.ts";
export * from "./policy.ts";
export * from "./shapes.ts";
export * from "./single-sign-on.ts";
export * from "./usage.ts";
export * from "./webhook.ts";
