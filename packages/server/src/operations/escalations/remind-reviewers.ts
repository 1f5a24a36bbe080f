import type { Reviewer } from "@countersign/contract";
import { type CountedDemand, type Notice, nextNoticeAt, noticesOf, timestampUs } from "@countersign/core";
import { type NoticedEscalation, takeDueNotices, writeNotices } from "../../store/people/mails.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { standingReviews } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import { type AskingEscalation, isOpen, mailReviewers } from "./tell-reviewers.ts";

const at_once_max = 500;

/**
 * Mails missing approvers at half of a review's time and when a tenth is left, and second tiers when they open. One
 * transaction writes a mail and the time of the next, so each is sent once on any number of nodes. If several are due,
 * only the latest is sent. Returns true if there may be more.
 */
export async function remindReviewers(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails">): Promise<boolean> {
  const { taken, written } = await runtime.db.system(async (query) => {
    const now = await databaseNow(query);
    const due = await takeDueNotices(query, now, at_once_max);
    let mails = 0;
    for (const [org_id, escalations] of byOrganization(due)) {
      const standing = await standingReviews(query, org_id, escalations, now);
      const asking = standing.flatMap((each) => askingNow(each, now));
      mails += await mailReviewers(runtime, query, org_id, asking);
      await writeNotices(
        query,
        org_id,
        escalations.map((each) => ({ ...each, notice_at: nextNoticeAt(each, now) })),
      );
    }
    return { taken: due.length, written: mails };
  });
  if (written > 0) runtime.mails.wake();
  return taken === at_once_max;
}

function askingNow(escalation: NoticedEscalation, now: string): AskingEscalation[] {
  const { expires_at, demands, notice_at } = escalation;
  const [from_us, now_us] = [timestampUs(notice_at), timestampUs(now)];
  if (timestampUs(expires_at) <= now_us) return [];
  const due = noticesOf(escalation).filter(({ at }) => timestampUs(at) >= from_us && timestampUs(at) <= now_us);
  const reminder = due.map(reminderOf).findLast((kind) => kind !== null) ?? null;
  const tiers = new Set(due.flatMap((notice) => (notice.kind === "tier" ? [notice.policy] : [])));
  const asks: AskingEscalation["asks"] = (demand, areThey) => {
    if (!isOpen(demand, demands) || !areThey(demand.reviewers)) return false;
    return reminder !== null || (tiers.has(demand.policy) && !wasAsked(demand, areThey));
  };
  return [{ ...escalation, asks, ...(reminder === null ? {} : { reminder }) }];
}

/** Returns true if these people could meet the demand without its second tier, so they already had a mail. */
function wasAsked({ reviewers, tier }: CountedDemand, areThey: (reviewers: readonly Reviewer[]) => boolean): boolean {
  const added = tier?.reviewers ?? [];
  const first = reviewers.filter(({ type, id }) => !added.some((each) => each.type === type && each.id === id));
  return first.length > 0 && areThey(first);
}

function reminderOf({ kind }: Notice): "half" | "tenth" | null {
  return kind === "tier" ? null : kind;
}
