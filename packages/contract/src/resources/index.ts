/** The shapes of everything that goes over the wire: a TypeBox schema and its type under one name. */

export * from "./audit.ts";
export * from "./backtest.ts";
export * from "./context.ts";
export * from "./coverage.ts";
export * from "./decision.ts";
export * from "./error.ts";
export * from "./escalation.ts";
export * from "./event.ts";
export * from "./freeze.ts";
export * from "./grant.ts";
export * from "./health.ts";
export * from "./intent.ts";
export * from "./membrane.ts";
export * from "./override.ts";
export * from "./overview.ts";
export * from "./people/api-key.ts";
export * from "./people/caller.ts";
export * from "./people/onboarding.ts";
export * from "./people/pace.ts";
export * from "./people/person.ts";
export * from "./people/single-sign-on.ts";
export * from "./policy.ts";
export * from "./shapes.ts";
export * from "./usage.ts";
export * from "./webhook.ts";
