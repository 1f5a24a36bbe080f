import { roleMeets } from "@countersign/contract";
import { readNotified, takeUntold } from "../../store/people/mails.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import { identityOf, isAmong } from "../people/identity.ts";
import { writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";

const at_once_max = 500;
/** How many actions one mail lists; it gives the number of the others. */
const listed_max = 20;

/**
 * Mails reviewers about live escalations that wait for them: one mail for each person, with all escalations since the last
 * pass except the person's own. Each escalation is mailed once, and again after it is reassigned, in the transaction that
 * marks it as mailed. Returns true if there may be more.
 */
export async function tellReviewers(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails">): Promise<boolean> {
  const { taken, written } = await runtime.db.system(async (query) => {
    const untold = await takeUntold(query, at_once_max);
    let mails = 0;
    for (const [org_id, escalations] of byOrganization(untold)) {
      const makers = new Map<string | null, ReadonlySet<string>>();
      for (const lineage_id of new Set(escalations.map((each) => each.lineage_id)))
        makers.set(lineage_id, (await identityOf(query, org_id, lineage_id)).makers);
      for (const { user_id, email, role } of await readNotified(query, org_id)) {
        if (!roleMeets(role, ["reviewer"])) continue;
        const others = escalations.filter(({ lineage_id }) => !makers.get(lineage_id)?.has(user_id));
        const theirs = others.filter(({ record }) => isAmong(record.reviewers, user_id, role));
        if (theirs.length === 0) continue;
        const waiting = theirs.slice(0, listed_max).map(({ escalation_id, record }) => ({
          escalation_id,
          agent_id: record.agent_id,
          type: record.action.type,
          verb: record.action.verb,
          expires_at: record.expires_at,
        }));
        const more = theirs.length - waiting.length;
        await writeMail(runtime, query, "escalations", { to: email, org_id, user_id, waiting, more });
        mails += 1;
      }
    }
    return { taken: untold.length, written: mails };
  });
  if (written > 0) runtime.mails.wake();
  return taken === at_once_max;
}
