/**
 * Assigns each test file to one vitest project: `e2e` and `poolers` by patterns, then `unit`, and `db` gets the rest.
 */
const e2e = [
  "test/{adapters,cli,console,docs,evidence,examples,mcp,mcp-conformance,openapi,packages,processes,python,webhooks}/**/*.test.ts",
  "packages/cli/**/*.test.ts",
  "scripts/**/*.test.ts",
  // Tests beside their code that start a program or the embedded PostgreSQL.
  "packages/**/*-process.test.ts",
  "packages/server/test/database/embedded-*.test.ts",
];
const unit = ["packages/{cel,console,contract,core,mcp,sdk}/**/*.test.ts", "test/policies/**/*.test.ts"];
const poolers = ["test/poolers/**/*.test.ts"];
const never = ["**/node_modules/**", "**/dist/**"];

export const testProjects = {
  /** Processes, the browser, frameworks. */
  e2e: { include: e2e, exclude: never },
  /** No database, process or browser. */
  unit: { include: unit, exclude: [...never, ...e2e, ...poolers] },
  /** Needs PostgreSQL: server, API, simulations. `.ci/run` runs it on two databases. */
  db: { include: ["**/*.test.ts"], exclude: [...never, ...e2e, ...unit, ...poolers] },
  /** Runs only if POOLER_URL is set. */
  poolers: { include: poolers, exclude: never },
};

/** Tests of `db` that `poolers` repeats: requests of every kind, and the workers. */
export const repeatedThroughPooler = [
  "packages/server/src/edge/main.test.ts",
  "packages/server/src/http/gate/keys.test.ts",
  "packages/server/src/http/routes/{escalations,intents,overrides,people/people,webhooks}.test.ts",
  "packages/server/src/store/commit/{commit-call,commit-writer}.test.ts",
  "packages/server/src/store/database/migrate.test.ts",
  "packages/server/src/store/organizations/heads.test.ts",
  "packages/server/src/store/rows/idempotency.test.ts",
  "packages/server/src/store/webhooks/*.test.ts",
  "packages/server/src/worker/time-limits.test.ts",
  "packages/server/src/worker/deliveries/deliveries.test.ts",
  "test/api/tenancy.test.ts",
];
