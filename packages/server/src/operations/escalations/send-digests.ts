import { readOpenReviews, takeDueDigests } from "../../store/people/mails.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { standingReviews } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import { type AskingEscalation, isOpen, mailReviewers } from "./tell-reviewers.ts";

const at_once_max = 50;
/** Of one organization. The mail lists some and counts the others. */
const reviews_max = 500;

/**
 * Writes the daily mails that are due: what waits for each person now. One transaction writes the mails and the time of
 * the next ones, so each is sent once on any number of nodes. Returns true if there may be more.
 */
export async function sendDigests(runtime: Pick<Runtime, "db" | "ids" | "sealer">): Promise<boolean> {
  return runtime.db.system(async (query) => {
    const due = await takeDueDigests(query, at_once_max);
    const now = await databaseNow(query);
    let people = 0;
    for (const [org_id, user_ids] of due) {
      people += user_ids.length;
      const open = await readOpenReviews(query, org_id, reviews_max);
      const standing = await standingReviews(query, org_id, open, now);
      const asking = standing.map((each): AskingEscalation => {
        return { ...each, asks: (demand, areThey) => isOpen(demand, each.demands) && areThey(demand.reviewers) };
      });
      await mailReviewers(runtime, query, org_id, asking, user_ids);
    }
    return people === at_once_max;
  });
}
