/** Verifies that an organization's audit trail is complete, and that the tables are as the trail says. */
import type { Db, Query } from "../../ports.ts";
import type { Difference } from "../../store/audit/state/differences.ts";
import { verifyCounters } from "../../store/audit/state/verify-counters.ts";
import { verifyFingerprints } from "../../store/audit/state/verify-fingerprints.ts";
import { verifyReviews } from "../../store/audit/state/verify-reviews.ts";
import { verifyState } from "../../store/audit/state/verify-state.ts";
import { verifyClaims, verifyGrantUses } from "../../store/audit/state/verify-uses.ts";
import { type AuditCheck, type AuditFinding, verifyAudit } from "../../store/audit/verify-audit.ts";

/** `differs`: the trail is sound, but rows are not as it says. Lists at most 1,000 of `total`. */
export type Verified =
  | AuditFinding
  | {
      readonly sound: false;
      readonly problem: "differs";
      readonly differences: readonly Difference[];
      readonly total: number;
    };

type Check = (query: Query, org_id: string) => AsyncIterable<Difference>;

const checks: readonly (readonly [what: string, check: Check])[] = [
  ["settings, keys, people, policies, freezes, grants and overrides", verifyState],
  ["reviews", verifyReviews],
  ["claims", verifyClaims],
  ["uses of grants", verifyGrantUses],
  ["fingerprints of actions", verifyFingerprints],
  ["counters", verifyCounters],
];

const listed_max = 1_000;

/** Takes no locks, so the service may run. `told` receives the progress as a share of 1 and as text. */
export async function verifyOrganization(
  db: Pick<Db, "tenant">,
  org_id: string,
  expect_root: string | undefined,
  told: (done: number, text: string) => void,
): Promise<Verified> {
  const chain: AuditCheck = {
    expect_root,
    told: (seq, of) => told((seq / of) * 0.9, `${seq.toLocaleString("en-US")} audit records`),
  };
  return db.tenant(org_id, async (query) => {
    // One snapshot, because the service may change rows meanwhile.
    await query("set transaction isolation level repeatable read, read only");
    return verifyIn(query, org_id, chain, told);
  });
}

/** Must run in one transaction with one snapshot. */
export async function verifyIn(
  query: Query,
  org_id: string,
  chain: AuditCheck = {},
  told: (done: number, text: string) => void = () => undefined,
): Promise<Verified> {
  const trail = await verifyAudit(query, org_id, chain);
  if (!trail.sound) return trail;
  const found = new Map<string, Difference>();
  for (const [what, check] of checks) {
    told(0.9, what);
    for await (const each of check(query, org_id)) found.set(`${each.table} ${each.id}`, each);
  }
  if (found.size === 0) return trail;
  return { sound: false, problem: "differs", differences: [...found.values()].slice(0, listed_max), total: found.size };
}
