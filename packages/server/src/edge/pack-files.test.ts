/** How long compiled policies are kept. Source: architecture.md §4. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { PolicySource } from "@countersign/core";
import { expect, test } from "vitest";
import { loadPacks } from "./pack-files.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const library = await loadPacks();
const membrane = { packs: ["security"] };
const ownPolicies = (version: number): PolicySource[] => [
  {
    ...{ policy_id: "pol_00000000000000000000000001", version, mode: "live" },
    document: {
      ...{ apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "large" } },
      spec: { when: "params.amount_usd > 5.0", effect: "block", message: "Too much." },
    },
  },
];

test("the same packs and policies are compiled once", () => {
  const own = ownPolicies(1);
  expect(library.policySetOf(membrane, own)).toBe(library.policySetOf({ packs: ["security"] }, own));
  expect(library.policySetOf(membrane, own)).not.toBe(library.policySetOf({ packs: [] }, own));
  expect(library.policySetOf(membrane)).toBe(library.policySetOf({ packs: ["security"] }));
});

test("what was compiled of policies goes with them: a thousand changes leave no thousand sets behind", async () => {
  const sets = Array.from(
    { length: 20 },
    (_, version) => new WeakRef(library.policySetOf(membrane, ownPolicies(version))),
  );
  // A reference that was just made is held until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(sets.filter((set) => set.deref() !== undefined)).toHaveLength(0);
});
