import { formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { listPeople } from "../../store/people/people.ts";
import { markTrouble, readTroubles, type Trouble } from "../../store/webhooks/webhooks.ts";
import { writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";

const told_admins_max = 100;

/**
 * Pauses webhooks of the organization that failed as often as their settings permit, and mails all admins. One
 * transaction marks the webhooks and writes the mails, so two nodes never mail twice.
 */
export async function watchWebhooks(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer">,
  org_id: string,
): Promise<void> {
  // Most failures change nothing, and then the organization's head stays free.
  const seen = await runtime.db.tenant(org_id, (query) => readTroubles(query, org_id));
  if (seen.length === 0) return;
  await runtime.db.system(async (query) => {
    let troubles: readonly Trouble[] = [];
    await withHead(query, org_id, async () => {
      troubles = await readTroubles(query, org_id);
      for (const each of troubles) await markTrouble(query, org_id, each);
      const at = formatTimestampUs(runtime.clock.now_us());
      const audit = troubles
        .filter(({ must_pause }) => must_pause)
        .map(({ webhook_id, failures_in_row }) => {
          const data = { webhook_id, failures_in_row };
          return auditRow(runtime.ids, { intent_id: null, at, actor: "system", type: "webhook_paused", data });
        });
      return audit.length === 0 ? null : { audit };
    });
    if (troubles.length === 0) return;
    const admins = await listPeople(query, org_id, "admin", told_admins_max, null);
    for (const { url, failures_in_row: failures, must_pause: paused } of troubles)
      for (const { email: to } of admins)
        await writeMail(runtime, query, "webhook_failing", { to, host: new URL(url).host, failures, paused });
  });
}
