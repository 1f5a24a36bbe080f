import { canonicalJson } from "@countersign/core";
import { pagesOf } from "@countersign/sdk";
import { CommandFailed } from "../command-failed.ts";
import { membranesIn, membraneTypes, policiesIn, policyTypes } from "./in-force.ts";
import { type InForce, names, type PolicyInForce } from "./layout.ts";
import { type Making, recordsOf } from "./reading.ts";

/** Adds each policy version that was in force in the period, and `in-force.json`. */
export async function readInForce(making: Making, as_of_seq: number): Promise<InForce> {
  const { zip, period, client, signal } = making;
  const all = async (types: typeof policyTypes | typeof membraneTypes) => {
    const found = [];
    for (const type of types) found.push(...(await recordsOf(client, type, as_of_seq, signal)));
    return found;
  };
  const policies = policiesIn(await all(policyTypes), period);
  const membranes = membranesIn(await all(membraneTypes), period);
  await addDocuments(making, policies);
  const used = [...new Set(membranes.flatMap((membrane) => membrane.packs))].sort();
  const packs: unknown[] = [];
  for await (const page of pagesOf((place) => client.listPacks({ limit: 200, ...place })))
    packs.push(...page.packs.filter(({ name }) => used.includes(name)));
  const in_force: InForce = { policies, membranes, packs };
  await zip.add(names.in_force, `${JSON.stringify(in_force, null, 1)}\n`);
  return in_force;
}

/** Writes canonical JSON, whose SHA-256 is that of the version. */
async function addDocuments({ zip, client, report }: Making, policies: readonly PolicyInForce[]): Promise<void> {
  const wanted = new Map(policies.map((each) => [each.file, each]));
  const ids = [...new Set(policies.map(({ policy_id }) => policy_id))];
  for (const [n, policy_id] of ids.entries()) {
    report(n / ids.length, `${n.toLocaleString("en-US")} policies`);
    const pages = pagesOf((place) => client.listPolicyVersions(policy_id, { limit: 200, ...place }));
    for await (const { versions } of pages)
      for (const { version, sha256, document } of versions) {
        const file = [...wanted.values()].find((each) => each.policy_id === policy_id && each.version === version);
        if (file === undefined || !wanted.delete(file.file)) continue;
        if (file.sha256 !== sha256)
          throw new CommandFailed(`version ${version} of ${policy_id} is another one than the audit trail says`);
        await zip.add(file.file, canonicalJson(document));
      }
  }
  const [missing] = wanted.values();
  if (missing !== undefined)
    throw new CommandFailed(`the service has no version ${missing.version} of ${missing.policy_id} any more`);
}
