/** Whether one organization's audit trail is whole, and what is stored is what it tells of. Source: architecture.md §6. */
import type { Db } from "../../ports.ts";
import { type AuditCheck, type AuditFinding, verifyAudit } from "../../store/audit/audit.ts";
import { type RecordsFinding, verifyRecords } from "../../store/audit/audit-records.ts";

/** The trail's rows and root, with what the records add; or the first thing that is wrong. */
export type Verified =
  | (Extract<AuditFinding, { sound: true }> & Extract<RecordsFinding, { sound: true }>)
  | Extract<AuditFinding | RecordsFinding, { sound: false }>;

/** Reads only and locks nothing, so it runs beside the service. `told` hears how far it is: a share of 1, and in words. */
export async function verifyOrganization(
  db: Pick<Db, "tenant">,
  org_id: string,
  expect_root: string | undefined,
  told: (done: number, text: string) => void,
): Promise<Verified> {
  let rows = 0;
  const check: AuditCheck = {
    expect_root,
    told: (seq, of) => {
      rows = of;
      told(seq / of / 2, `${seq.toLocaleString("en-US")} audit rows`);
    },
  };
  return db.tenant(org_id, async (query) => {
    const trail = await verifyAudit(query, org_id, check);
    if (!trail.sound) return trail;
    // Every decision has two rows at least: submitted and decided.
    const records = await verifyRecords(query, org_id, (intents) =>
      told(Math.min(1, 0.5 + intents / Math.max(1, rows)), `${intents.toLocaleString("en-US")} intents`),
    );
    return records.sound ? { ...trail, ...records } : records;
  });
}
