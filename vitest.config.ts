import { defineConfig } from "vitest/config";
import { SlowFirst } from "./scripts/slow-first.ts";
import { repeatedThroughPooler, testProjects } from "./scripts/test-projects.ts";

const { include, exclude } = testProjects.poolers;
const poolers = { name: "poolers", include: [...include, ...repeatedThroughPooler], exclude };
const has_pooler = (process.env["POOLER_URL"] ?? "") !== "";
const globalSetup = ["scripts/files-in-memory.ts", "packages/server/src/testing/global-setup.ts"];

export default defineConfig({
  resolve: { conditions: ["@countersign/source"] },
  ssr: { resolve: { conditions: ["@countersign/source"] } },
  test: {
    projects: [
      { extends: true, test: { name: "unit", ...testProjects.unit } },
      { extends: true, test: { name: "db", ...testProjects.db, globalSetup } },
      { extends: true, test: { name: "e2e", ...testProjects.e2e, globalSetup } },
      ...(has_pooler ? [{ extends: true as const, test: { ...poolers, globalSetup } }] : []),
    ],
    setupFiles: [
      "scripts/property-seed.ts",
      "scripts/clean-up-after-file.ts",
      "packages/server/src/testing/statements/prove-statements.ts",
    ],
    sequence: { sequencer: SlowFirst },
    pool: "forks",
    // Files of one worker share their modules: importing the service for each file took as much time as half of the
    // tests.
    isolate: false,
    // More than the two cores need, because many tests wait for processes, receivers and time limits. With three the
    // run took 15 % longer.
    maxWorkers: 4,
    // Far longer than any test: many start processes, and machines are busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The default of one second would test the speed of a busy machine.
    expect: { poll: { timeout: 60_000 } },
  },
});
