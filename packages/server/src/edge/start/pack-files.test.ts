import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { PolicySet, PolicySource } from "@countersign/core";
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

test("the same packs and policies are compiled once", async () => {
  const own = ownPolicies(1);
  const set = await library.policySetOf(membrane, own);
  expect(await library.policySetOf({ packs: ["security"] }, own)).toBe(set);
  expect(await library.policySetOf({ packs: [] }, own)).not.toBe(set);
  expect(await library.policySetOf(membrane)).toBe(await library.policySetOf({ packs: ["security"] }));
});

test("the rules of packs are compiled once for all organizations, an organization's own policies for it alone", async () => {
  const sets = await Promise.all([
    library.policySetOf({ packs: ["security", "hipaa"] }, ownPolicies(1)),
    library.policySetOf({ packs: ["hipaa", "tcpa"] }, ownPolicies(1)),
    library.policySetOf({ packs: ["hipaa"] }),
  ]);
  const [first, second, third] = sets.map(
    ({ live }) => new Map(live.placed.map(({ policy }) => [policy.name, policy])),
  );
  expect(first?.get("hipaa.minimum-necessary")?.when).toBeTruthy();
  for (const name of first?.keys() ?? []) {
    if (!name.startsWith("hipaa.")) continue;
    expect(second?.get(name), name).toBe(first?.get(name));
    expect(third?.get(name), name).toBe(first?.get(name));
  }
  expect(first?.get("large")?.when).toBeTruthy();
  expect(second?.get("large")?.when).not.toBe(first?.get("large")?.when);
});

test("hundreds of policies are compiled in turns with the other work of the thread", async () => {
  let turns = 0;
  let compiled = false;
  const count = () => {
    turns += 1;
    if (!compiled) setImmediate(count);
  };
  setImmediate(count);
  const own = Array.from({ length: 300 }, (_, version) => ownPolicies(version)).flat();
  const set = await library.policySetOf({ packs: [] }, own);
  compiled = true;
  expect(set.live.placed).toHaveLength(300);
  expect(turns).toBeGreaterThan(30);
});

test("a set that failed to compile is not kept", async () => {
  const own = ownPolicies(1);
  const [policy] = own as [PolicySource];
  own[0] = { ...policy, document: { ...policy.document, spec: { effect: "block", when: "params." } } };
  await expect(library.policySetOf({ packs: [] }, own)).rejects.toThrow();
  own[0] = policy;
  expect((await library.policySetOf({ packs: [] }, own)).live.placed).toHaveLength(1);
});

test("compiled policies are freed with their policies: a thousand changes do not leave a thousand sets", async () => {
  const sets: WeakRef<PolicySet>[] = [];
  for (let version = 0; version < 20; version += 1) {
    sets.push(new WeakRef(await library.policySetOf(membrane, ownPolicies(version))));
  }
  // A new weak reference is held until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(sets.filter((set) => set.deref() !== undefined)).toHaveLength(0);
});
