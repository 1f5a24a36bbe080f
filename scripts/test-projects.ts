/**
 * The three vitest projects. The place of a test file decides its project: `e2e` takes its patterns first, then `unit`, and
 * `db` takes every other test file. So each file is in exactly one project.
 */
const e2e = [
  "test/{cli,console,mcp,packages,processes,webhooks}/**/*.test.ts",
  "packages/cli/**/*.test.ts",
  "scripts/**/*.test.ts",
  // Beside the code that they test: a program of its own, and the embedded PostgreSQL that each test starts and stops.
  "packages/**/*-process.test.ts",
  "packages/server/test/database/embedded-*.test.ts",
];
const unit = ["packages/{cel,console,contract,core,mcp,sdk}/**/*.test.ts", "test/policies/**/*.test.ts"];
const never = ["**/node_modules/**", "**/dist/**"];

/** What each project includes and excludes, as vitest's patterns from the root of the repository. */
export const testProjects = {
  /** Processes, the browser, frameworks. */
  e2e: { include: e2e, exclude: never },
  /** No database, no process, no browser. */
  unit: { include: unit, exclude: [...never, ...e2e] },
  /** What needs PostgreSQL: the server, the API over HTTP, the simulations. `.ci/run` runs it on two databases. */
  db: { include: ["**/*.test.ts"], exclude: [...never, ...e2e, ...unit] },
};
