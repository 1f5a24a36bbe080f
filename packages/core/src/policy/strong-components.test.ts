import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { strongComponents } from "./strong-components.ts";

const graph = fc
  .integer({ min: 1, max: 12 })
  .chain((nodes) => fc.array(fc.array(fc.nat(nodes - 1), { maxLength: 4 }), { minLength: nodes, maxLength: nodes }));

function leadsTo(edges: readonly (readonly number[])[], from: number, to: number): boolean {
  const seen = new Set([from]);
  for (const at of seen) for (const next of edges[at] ?? []) seen.add(next);
  return seen.has(to);
}

test("nodes are in one component exactly if each reaches the other", () => {
  fc.assert(
    fc.property(graph, (edges) => {
      const components = strongComponents(edges);
      for (const a of edges.keys())
        for (const b of edges.keys())
          expect(components[a] === components[b]).toBe(leadsTo(edges, a, b) && leadsTo(edges, b, a));
    }),
    { numRuns: runs(1_000) },
  );
});

test("long chains and large rings need no recursion", () => {
  const nodes = 100_000;
  const chain = Array.from({ length: nodes }, (_, node) => (node + 1 < nodes ? [node + 1] : []));
  expect(new Set(strongComponents(chain)).size).toBe(nodes);
  const ring = Array.from({ length: nodes }, (_, node) => [(node + 1) % nodes]);
  expect(new Set(strongComponents(ring)).size).toBe(1);
});
