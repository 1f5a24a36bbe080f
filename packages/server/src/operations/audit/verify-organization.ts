/** Verifies that an organization's audit trail is complete and matches the stored data. */
import type { Db } from "../../ports.ts";
import { type AuditCheck, type AuditFinding, verifyAudit } from "../../store/audit/verify-audit.ts";
import { type ReviewsFinding, verifyReviews } from "../../store/audit/verify-reviews.ts";

export type Verified =
  | (Extract<AuditFinding, { sound: true }> & Extract<ReviewsFinding, { sound: true }>)
  | Extract<AuditFinding | ReviewsFinding, { sound: false }>;

/** Takes no locks, so the service may run. `told` receives the progress as a share of 1 and as text. */
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
