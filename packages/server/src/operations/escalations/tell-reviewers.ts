import { type Reviewer, roleMeets } from "@countersign/contract";
import { type CountedDemand, hasTurn, isMet, nextNoticeAt, openTiers } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { addReviewCards } from "../../store/channels/review-cards.ts";
import { readAbsentNow, type StoredAbsence } from "../../store/people/absences.ts";
import {
  type NotifiedPerson,
  readNotified,
  takeUntold,
  type WaitingEscalation,
  writeNotices,
  writeTold,
} from "../../store/people/mails.ts";
import { byOrganization } from "../../store/rows/by-organization.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { type Identity, identityOf, isAmong } from "../people/identity.ts";
import { writeMail } from "../people/mail.ts";
import { pushNotice } from "../people/mail-texts.ts";
import { judgeOwnReview } from "../people/own-review.ts";
import type { Runtime } from "../runtime.ts";

const at_once_max = 500;
const listed_max = 20;

/**
 * Mails reviewers: one mail per person about all new escalations except the person's own. They get further mails after
 * reassignment, and when their turn comes. The same transaction marks them as mailed. Returns true if there may be
 * more.
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
      await addReviewCards(
        query,
        org_id,
        escalations.map(({ escalation_id }) => escalation_id),
      );
      for (const each of escalations) {
        const demands = each.demands.map((demand) => (isToTell(demand, each) ? { ...demand, told: true } : demand));
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

export interface AskingEscalation extends WaitingEscalation {
  readonly asks: (demand: CountedDemand, areThey: (reviewers: readonly Reviewer[]) => boolean) => boolean;
  readonly reminder?: "half" | "tenth";
}

/**
 * Writes one notice per person and way about these escalations, except those that the person submitted or voted on.
 * Delegates get the notices of absent reviewers. `daily_for`: only the daily mails of these people. Returns the number of
 * notices. System scope.
 */
export async function mailReviewers(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  org_id: string,
  escalations: readonly AskingEscalation[],
  daily_for: readonly string[] = [],
): Promise<number> {
  const daily = daily_for.length > 0;
  const submitters = new Map<string | null, Identity>();
  for (const lineage_id of new Set(escalations.map((each) => each.lineage_id)))
    submitters.set(lineage_id, await identityOf(query, org_id, lineage_id));
  const people = (await readNotified(query, org_id)).filter(({ role }) => roleMeets(role, ["reviewer"]));
  const told = daily ? people.filter(({ user_id }) => daily_for.includes(user_id)) : people;
  const absences = await readAbsentNow(query, org_id);
  let mails = 0;
  for (const person of told) {
    const { user_id } = person;
    const theirs = [];
    for (const each of escalations) {
      const submitter = submitters.get(each.lineage_id);
      if (submitter === undefined) continue;
      // A person cannot decide the own action through a delegate.
      const others = absences.filter((absence) => absence.user_id !== submitter.person);
      const rules = rulesFor(each, person, people, others);
      if (rules.length === 0) continue;
      if (await mayRule(query, org_id, user_id, submitter)) theirs.push({ ...each, rules });
    }
    if (theirs.length === 0) continue;
    mails += await tellPerson(runtime, query, org_id, person, theirs, daily);
  }
  return mails;
}

type Asked = AskingEscalation & { readonly rules: readonly string[] };

/** Writes the notices of one person. A person with one mail a day gets only the last reminders at once. */
async function tellPerson(
  runtime: Pick<Runtime, "ids" | "sealer">,
  query: Query,
  org_id: string,
  { user_id, email, notify, mail_rhythm, devices }: NotifiedPerson,
  theirs: readonly Asked[],
  daily: boolean,
): Promise<number> {
  const mailed = mail_rhythm === "daily" && !daily ? theirs.filter(({ reminder }) => reminder === "tenth") : theirs;
  const { waiting, more } = listedActions(mailed);
  if (notify && mailed.length > 0) {
    const as = daily ? { daily } : {};
    await writeMail(runtime, query, "escalations", { to: email, org_id, user_id, waiting, more, ...as });
  }
  const pushes = daily ? [] : devices;
  for (const device_id of pushes) {
    const listed = listedActions(theirs);
    await writeMail(runtime, query, "push", { org_id, device_id, ...pushNotice(listed.waiting, listed.more) });
  }
  return pushes.length + (notify && mailed.length > 0 ? 1 : 0);
}

function listedActions(escalations: readonly Asked[]) {
  const waiting = escalations.slice(0, listed_max).map(({ escalation_id, record, rules, reminder }) => ({
    escalation_id,
    agent_id: record.agent_id,
    type: record.action.type,
    verb: record.action.verb,
    expires_at: record.expires_at,
    rules,
    ...(reminder === undefined ? {} : { reminder }),
  }));
  return { waiting, more: escalations.length - waiting.length };
}

export function isOpen(demand: CountedDemand, demands: readonly CountedDemand[]): boolean {
  return !isMet(demand) && hasTurn(demand, demands);
}

function isToTell(demand: CountedDemand, { demands }: WaitingEscalation): boolean {
  return demand.told !== true && isOpen(demand, demands);
}

function asksUntold(escalation: WaitingEscalation): AskingEscalation["asks"] {
  return (demand, areThey) => isToTell(demand, escalation) && areThey(demand.reviewers);
}

/**
 * Returns the person's own rules, and those of absent people as their delegate. An absent person's rule is omitted if
 * the delegate gets its mail.
 */
function rulesFor(
  escalation: AskingEscalation,
  person: NotifiedPerson,
  people: readonly NotifiedPerson[],
  absences: readonly StoredAbsence[],
): string[] {
  const { record } = escalation;
  const own = askedFor(escalation, person);
  const for_others = absences
    .filter(({ delegate, by_admin, user_id }) => by_admin && delegate === person.user_id && !hasVoted(record, user_id))
    .flatMap(({ user_id }) => askedByName(escalation, user_id));
  const absence = absences.find(({ user_id }) => user_id === person.user_id);
  const delegate = people.find(({ user_id }) => user_id === absence?.delegate);
  const theirs = new Set(delegate === undefined ? [] : askedFor(escalation, delegate));
  if (delegate !== undefined && absence?.by_admin === true)
    for (const rule of askedByName(escalation, person.user_id)) theirs.add(rule);
  const asked = hasVoted(record, person.user_id) ? [] : for_others;
  return [...new Set([...own.filter((rule) => !theirs.has(rule)), ...asked])];
}

function askedByName({ demands, asks }: AskingEscalation, absent: string): string[] {
  const areThey = (reviewers: readonly Reviewer[]): boolean =>
    reviewers.some(({ type, id }) => type === "user" && id === absent);
  return demands.flatMap((demand) => (asks(demand, areThey) ? [demand.policy] : []));
}

function hasVoted({ votes }: WaitingEscalation["record"], person: string): boolean {
  return votes.some(({ reviewer, lapsed }) => reviewer === person && lapsed === undefined);
}

/** Returns the rules for which to ask this person; none after a vote, or if the person may not vote. */
function askedFor({ record, demands, asks }: AskingEscalation, { user_id, role }: NotifiedPerson): string[] {
  const areThey = (reviewers: readonly Reviewer[]): boolean => isAmong(reviewers, user_id, role);
  if (!areThey(record.reviewers) || hasVoted(record, user_id)) return [];
  return demands.flatMap((demand) => (asks(demand, areThey) ? [demand.policy] : []));
}

async function mayRule(query: Query, org_id: string, user_id: string, submitter: Identity): Promise<boolean> {
  const person: Identity = { self: user_id, person: user_id, makers: new Set([user_id]) };
  return (await judgeOwnReview(query, org_id, person, submitter)).kind !== "refused";
}
