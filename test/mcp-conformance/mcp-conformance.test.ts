/** The short part of `npm run mcp:conformance`. */
import { describe, expect, test } from "vitest";
import root from "../../package.json" with { type: "json" };
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { isFault } from "./outcomes.ts";
import { has_tools } from "./programs.ts";
import { faults, sums } from "./report.ts";
import results from "./results.json" with { type: "json" };
import { startService } from "./service.ts";
import { pairs, rowsOf } from "./suite.ts";
import tools from "./tools/package.json" with { type: "json" };

/** On a busy machine each client, server and proxy takes seconds to start. */
const time_ms_max = 600_000;

const short: readonly string[] = [
  "conformance, 2026-07-28 × fixtures over stdio",
  "v1 client, 2025-11-25 × fixtures",
  "v2 client, 2026-07-28 × fixtures",
  "Inspector × filesystem",
];

test("the recorded run is of the versions in package.json, and of all pairs", () => {
  const ours = Object.entries(root.devDependencies).filter(([name]) => name.startsWith("@modelcontextprotocol/"));
  expect(results.versions).toEqual({ ...tools.dependencies, ...Object.fromEntries(ours) });
  const recorded = results.sums.map(({ pair }) => pair);
  expect(pairs.map(({ name }) => name).filter((name) => !recorded.includes(name))).toEqual([]);
});

describe.skipIf(!has_tools)("with the tools (npm ci --prefix test/mcp-conformance/tools)", async () => {
  const accesses = has_tools ? await startService(await testDatabase()) : null;

  test.each(pairs.filter(({ name }) => short.includes(name)))(
    "$name: equal with and without the proxy, but where governance answers",
    async (pair) => {
      if (accesses === null) throw new Error("no service");
      for await (const rows of rowsOf(pair, accesses)) {
        expect(faults(rows)).toBe("");
        expect(rows.filter(isFault)).toEqual([]);
        const kept = sums(rows).map(({ faults: _, ...sum }) => sum);
        expect(results.sums).toEqual(expect.arrayContaining(kept));
      }
    },
    time_ms_max,
  );
});
