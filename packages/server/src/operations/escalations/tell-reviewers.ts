import { type Role, roleMeets } from "@countersign/contract";
import { type CountedDemand, hasTurn, isMet, nextNoticeAt, openTiers } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readNotified, takeUntold, type WaitingEscalation, writeNotices, writeTold } from "../../store/people/mails.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { type Identity, identityOf, isAmong } from "../people/identity.ts";
import { writeMail } from "../people/mail.ts";
import { judgeOwnReview } from "../people/own-review.ts";
import type { Runtime } from "../runtime.ts";

const at_once_max = 500;
/** How many actions one mail lists; it gives the number of the others. */
const listed_max = 20;

/**
 * Mails reviewers about live escalations that wait for them: one mail for each person, with all escalations since the last
 * pass except the person's own. Each escalation is mailed once to those whose turn has come, and again after it is reassigned or
 * further turns have come, in the transaction that marks it as mailed. Returns true if there may be more.
 */
export async function tellReviewers(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails">): Promise<boolean> {
  const { taken, written } = await runtime.db.system(async (query) => {
    const untold = await takeUntold(query, at_once_max);
    const now = await databaseNow(query);
    let mails = 0;
    for (const [org_id, escalations] of byOrganization(untold)) {
      const asking = escalations
        .map((each) => openTiers(each, now))
        .map((each) => ({ ...each, asks: asksUntold(each) }));
      mails += await mailReviewers(runtime, query, org_id, asking);
      for (const each of escalations) {
        const demands = each.demands.map((demand) => (isToTell(demand, each) ? { ...demand, told: true } : demand));
        // Without an order all demands are told at once, and `notified` says so.
        if (demands.some(({ after }) => after !== undefined)) await writeTold(query, { ...each, demands });
      }
      await writeNotices(
        query,
        org_id,
        escalations.map((each) => ({ ...each, notice_at: nextNoticeAt(each, now) })),
      );
    }
    return { taken: untold.length, written: mails };
  });
  if (written > 0) runtime.mails.wake();
  return taken === at_once_max;
}

/** An escalation that a mail asks people to review. */
export interface AskingEscalation extends WaitingEscalation {
  /** Whether this person is to be asked for this demand. */
  readonly asks: (demand: CountedDemand, user_id: string, role: Role) => boolean;
  /** How much of the time is over, if that is the reason for the mail. */
  readonly reminder?: "half" | "tenth";
}

/**
 * Writes one mail for each person of an organization whom these escalations ask: about all of them, except those that the person
 * submitted or voted on. Returns the number of mails. System scope.
 */
export async function mailReviewers(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  org_id: string,
  escalations: readonly AskingEscalation[],
): Promise<number> {
  const submitters = new Map<string | null, Identity>();
  for (const lineage_id of new Set(escalations.map((each) => each.lineage_id)))
    submitters.set(lineage_id, await identityOf(query, org_id, lineage_id));
  let mails = 0;
  for (const { user_id, email, role } of await readNotified(query, org_id)) {
    if (!roleMeets(role, ["reviewer"])) continue;
    const theirs = [];
    for (const each of escalations) {
      const rules = askedFor(each, user_id, role);
      const submitter = submitters.get(each.lineage_id);
      if (rules.length === 0 || submitter === undefined) continue;
      if (await mayRule(query, org_id, user_id, submitter)) theirs.push({ ...each, rules });
    }
    if (theirs.length === 0) continue;
    const waiting = theirs.slice(0, listed_max).map(({ escalation_id, record, rules, reminder }) => ({
      escalation_id,
      agent_id: record.agent_id,
      type: record.action.type,
      verb: record.action.verb,
      expires_at: record.expires_at,
      rules,
      ...(reminder === undefined ? {} : { reminder }),
    }));
    const more = theirs.length - waiting.length;
    await writeMail(runtime, query, "escalations", { to: email, org_id, user_id, waiting, more });
    mails += 1;
  }
  return mails;
}

/** Whether a demand waits for its reviewers: it is not met, and its turn has come. */
export function isOpen(demand: CountedDemand, demands: readonly CountedDemand[]): boolean {
  return !isMet(demand) && hasTurn(demand, demands);
}

/** Whether the reviewers of a demand are to be told: it waits for them, and they were not told before. */
function isToTell(demand: CountedDemand, { demands }: WaitingEscalation): boolean {
  return demand.told !== true && isOpen(demand, demands);
}

function asksUntold(escalation: WaitingEscalation): AskingEscalation["asks"] {
  return (demand, user_id, role) => isToTell(demand, escalation) && isAmong(demand.reviewers, user_id, role);
}

/** Returns the names of the rules for which this person is to be asked; none if the person may not vote or has voted. */
function askedFor({ record, demands, asks }: AskingEscalation, user_id: string, role: Role): string[] {
  const may_vote = isAmong(record.reviewers, user_id, role);
  if (!may_vote || record.votes.some(({ reviewer }) => reviewer === user_id)) return [];
  return demands.flatMap((demand) => (asks(demand, user_id, role) ? [demand.policy] : []));
}

/** Whether this person may rule on what `submitter` submitted. */
async function mayRule(query: Query, org_id: string, user_id: string, submitter: Identity): Promise<boolean> {
  const person: Identity = { self: user_id, person: user_id, makers: new Set([user_id]) };
  return (await judgeOwnReview(query, org_id, person, submitter)).kind !== "refused";
}
