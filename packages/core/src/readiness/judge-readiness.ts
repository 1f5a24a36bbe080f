import { limits, type MembraneReadiness, type NotReady } from "@countersign/contract";
import { names } from "../onboarding/words.ts";

/** Everything that a readiness states, without its verdict. */
export type ReadinessEvidence = Omit<MembraneReadiness, "verdict" | "not_ready">;

type Reviewed = Pick<ReadinessEvidence, "holds" | "reviews">;

type Check = (evidence: ReadinessEvidence) => readonly NotReady[];

/** Returns why the membrane is not ready; empty: it is. While decisions are being counted, that is the only reason. */
export function judgeReadiness(evidence: ReadinessEvidence): NotReady[] {
  if (!evidence.evidence.complete) return [counting];
  return checks.flatMap((check) => check(evidence));
}

const counting: NotReady = {
  code: "counting",
  message: "The service is still counting earlier decisions, so it cannot say yet what this membrane would have held.",
  next_step: "Ask again in some minutes.",
};

const enoughDecisions: Check = ({ evidence: { decisions } }) => {
  const { readiness_decisions_min: min, readiness_days: days } = limits;
  if (decisions >= min) return [];
  return one(
    "too_few_decisions",
    `${numbers(decisions, "decision")} in shadow in the last ${days} days. ${min} are needed.`,
    "Let agents submit their actions to this membrane while it is in shadow.",
  );
};

const enoughDays: Check = ({ evidence: { days } }) => {
  const min = limits.readiness_days_min;
  if (days >= min) return [];
  return one(
    "too_few_days",
    `The decisions are from ${numbers(days, "day")}. ${min} days are needed, so that weekends are among them.`,
    "Wait until the membrane has decided on that many days.",
  );
};

const factsArrive: Check = ({ missing_facts: { decisions, facts }, holds, blocks }) => {
  const held = holds.count + blocks.count;
  const share = held === 0 ? 0 : Math.min(1, decisions / held);
  if (share <= limits.readiness_missing_facts_share_max) return [];
  return one(
    "missing_facts",
    `${percent(share)} of the actions that would be held or blocked miss a fact. Missing facts: ${names(facts.map(({ path }) => path.replace(/^facts\./, "")))}.`,
    "Supply these facts, or switch off the rules that read them. missing_facts.next_steps says how.",
  );
};

const actionsCovered: Check = ({ uncovered: { actions } }) =>
  actions.length === 0
    ? []
    : one(
        "uncovered_actions",
        `No rule names these actions of agents: ${names(actions.map(({ verb }) => verb))}.`,
        "Write a rule for them, or give them the type that a rule names in the membrane's action catalogue.",
      );

export function somebodyDecides({ holds, reviews: { people } }: Reviewed): readonly NotReady[] {
  return people > 0 || holds.count === 0
    ? []
    : one(
        "nobody_can_decide",
        `${numbers(holds.count, "action")} would have waited for a person, and nobody may decide.`,
        "Invite people with the role reviewer, or name other reviewers in the membrane.",
      );
}

export function peopleHaveTime({ holds, reviews: { people, hours_per_day } }: Reviewed): readonly NotReady[] {
  const hours = people * limits.readiness_review_hours_max;
  if (people === 0 || hours_per_day <= hours) return [];
  return one(
    "too_many_reviews",
    `About ${rounded(holds.per_day)} reviews a day take ${rounded(hours_per_day)} hours. ${numbers(people, "person", "people")} can give ${rounded(hours)} hours, ` +
      `at ${limits.readiness_review_hours_max} hours each.`,
    "Make the rules that hold most actions narrower, or name more reviewers.",
  );
}

const holdsAreRight: Check = ({ false_holds: { labelled, wrong, share_at_least } }) => {
  const most = limits.readiness_false_holds_share_max;
  if (share_at_least === null || share_at_least <= most) return [];
  return one(
    "false_holds",
    `People called ${wrong} of ${labelled} sampled holds wrong: for sure, more than ${percent(most)} of all holds are wrong.`,
    "Change the rules that held these actions, and look again after a week.",
  );
};

const webhooksWork: Check = ({ webhooks: { failing } }) =>
  failing.length === 0
    ? []
    : one(
        "webhooks_failing",
        `Deliveries to ${numbers(failing.length, "webhook")} failed in the last 24 hours: ${names(failing.map(({ webhook_id }) => webhook_id))}.`,
        "Mend the receivers, then send the failed events again.",
      );

const mailWorks: Check = ({ holds, mail }) =>
  mail === "working" || holds.count === 0
    ? []
    : one(
        "mail",
        mail === "off"
          ? "The service sends no mails, so reviewers do not learn that an action waits for them."
          : "Mails have waited for over ten minutes, so reviewers learn late that an action waits for them.",
        mail === "off" ? "The operator of the service sets SMTP_URL." : "The operator of the service checks SMTP_URL.",
      );

const keysBound: Check = ({ keys }) => [
  ...ofKeys(keys, "unbound", "unbound_keys", (listed) => [
    `These agent keys are not bound, so their holders can ask for shadow mode or another membrane: ${listed}.`,
    "Bind them (PATCH /v1/api-keys/{key_id}).",
  ]),
  ...ofKeys(keys, "admin_submits", "admin_keys", (listed) => [
    `These admin keys submit actions, and an admin key can change every rule: ${listed}.`,
    "Give the agents keys of role agent.",
  ]),
];

const checks: readonly Check[] = [
  ...[enoughDecisions, enoughDays, factsArrive, actionsCovered, somebodyDecides],
  ...[peopleHaveTime, holdsAreRight, webhooksWork, mailWorks, keysBound],
];

export function one(code: NotReady["code"], message: string, next_step: string): NotReady[] {
  return [{ code, message, next_step }];
}

function ofKeys(
  keys: ReadinessEvidence["keys"],
  warning: ReadinessEvidence["keys"][number]["warnings"][number],
  code: NotReady["code"],
  texts: (listed: string) => [string, string],
): NotReady[] {
  const warned = keys.filter(({ warnings }) => warnings.includes(warning)).map(({ key_id }) => key_id);
  return warned.length === 0 ? [] : one(code, ...texts(names(warned)));
}

const rounded = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
export const percent = (share: number): string => `${rounded(100 * share)} %`;

export function numbers(count: number, word: string, many = `${word}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? word : many}`;
}
