/**
 * The vitest projects. The place of a test file decides its project: `e2e` and `poolers` take their patterns first, then `unit`,
 * and `db` takes every other test file. So each file is in exactly one project.
 */
const e2e = [
  "test/{cli,console,docs,mcp,packages,processes,webhooks}/**/*.test.ts",
  "packages/cli/**/*.test.ts",
  "scripts/**/*.test.ts",
  // Files beside the code that they test: they start a program, or start and stop the embedded PostgreSQL.
  "packages/**/*-process.test.ts",
  "packages/server/test/database/embedded-*.test.ts",
];
const unit = ["packages/{cel,console,contract,core,mcp,sdk}/**/*.test.ts", "test/policies/**/*.test.ts"];
const poolers = ["test/poolers/**/*.test.ts"];
const never = ["**/node_modules/**", "**/dist/**"];

/** The files that each project includes and excludes, as vitest's patterns from the root of the repository. */
export const testProjects = {
  /** Processes, the browser, frameworks. */
  e2e: { include: e2e, exclude: never },
  /** No database, no process, no browser. */
  unit: { include: unit, exclude: [...never, ...e2e, ...poolers] },
  /**
   * Tests that need PostgreSQL: the server, the API over HTTP, the simulations. `.ci/run` runs them on two databases.
   */
  db: { include: ["**/*.test.ts"], exclude: [...never, ...e2e, ...unit, ...poolers] },
  /** Tests of connection poolers only. They run if POOLER_URL names one. */
  poolers: { include: poolers, exclude: never },
};

/** Tests of `db` that the project `poolers` repeats through the pooler: a request of every kind, and the workers. */
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
