/** Whether one organization's audit trail is whole, and what is stored is what it tells of. Source: architecture.md §6. */
import type { Db } from "../../ports.ts";
import { type AuditCheck, type AuditFinding, verifyAudit } from "../../store/audit/verify-audit.ts";
import { type ReviewsFinding, verifyReviews } from "../../store/audit/verify-reviews.ts";

/** The trail's records, decisions and root, with the number of reviews; or the first thing that is wrong. */
export type Verified =
  | (Extract<AuditFinding, { sound: true }> & Extract<ReviewsFinding, { sound: true }>)
  | Extract<AuditFinding | ReviewsFinding, { sound: false }>;

/** Reads only and locks nothing, so it runs beside the service. `told` hears how far it is: a share of 1, and in words. */
export async function verifyOrganization(
  db: Pick<Db, "tenant">,
  org_id: string,
  expect_root: string | undefined,
  told: (done: number, text: string) => void,
): Promise<Verified> {
  const check: AuditCheck = {
    expect_root,
    told: (seq, of) => told(seq / of, `${seq.toLocaleString("en-US")} audit records`),
  };
  return db.tenant(org_id, async (query) => {
    const trail = await verifyAudit(query, org_id, check);
    if (!trail.sound) return trail;
    const found = await verifyReviews(query, org_id, (reviews) =>
      told(1, `${reviews.toLocaleString("en-US")} reviews`),
    );
    return found.sound ? { ...trail, ...found } : found;
  });
}
