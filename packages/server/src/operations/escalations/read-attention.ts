import { type Attention, type AttentionItem, limits } from "@countersign/contract";
import { formatTimestampUs, us_per_day } from "@countersign/core";
import {
  type Executed,
  type FailingWebhook,
  type OpenReviews,
  readExecuted,
  readFailingWebhooks,
  readOpenReviews,
} from "../../store/escalations/attention.ts";
import { readLogProblem, type StoppedLog } from "../../store/log/log-state.ts";
import { areMailsDelayed } from "../../store/membranes/readiness.ts";
import { type LateStream, readLateStreams } from "../../store/streams/streams.ts";
import { type OutOfReach, rulesOutOfReach } from "../people/voting/reach.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const executed_days = 7;

/** Returns what needs a person now, once for each cause. */
export async function readAttention(
  runtime: Pick<Runtime, "db" | "clock" | "mailer">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<Attention> {
  const now_us = runtime.clock.now_us();
  const from = formatTimestampUs(now_us - executed_days * us_per_day);
  const found = await runtime.db.tenant(org_id, async (query) => ({
    executed: await readExecuted(query, org_id, from),
    reviews: await readOpenReviews(query, org_id),
    out_of_reach: await rulesOutOfReach(query, org_id),
    log: await readLogProblem(query, org_id),
    streams: await readLateStreams(query, org_id, limits.stream_behind_seconds, limits.attention_items_per_kind_max),
    webhooks: await readFailingWebhooks(query, org_id, Math.floor(now_us / 1_000)),
  }));
  const mail_waits = runtime.mailer.delivers && (await runtime.db.system(areMailsDelayed));
  const { executed, reviews, out_of_reach, log, streams, webhooks } = found;
  const items = [
    ...executed.map(executedItem),
    ...dueItems(reviews),
    ...out_of_reach.slice(0, limits.attention_items_per_kind_max).map((rule) => outOfReachItem(rule, reviews)),
    ...reviews.causes.map(causeItem),
    ...webhooks.map(webhookItem),
    ...(log === null ? [] : [logItem(log)]),
    ...streams.map(streamItem),
    ...(mail_waits ? [mailItem] : []),
  ];
  return { items: items.slice(0, limits.attention_items_max) };
}

const counted = (count: number, one: string, many: string) =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

function executedItem({ what, count, since, agent_id, intent_id }: Executed): AttentionItem {
  const at_least = count >= limits.counted_contradictions_max;
  const message = `${what} reported ${counted(count, "action", "actions")} that it executed without approval.`;
  const kind = "executed_although_blocked";
  return { kind, count, at_least, since, what, message, rules: [], agent_id, intent_id };
}

function dueItems({ due }: OpenReviews): AttentionItem[] {
  if (due === null) return [];
  const { count, since, escalation_id } = due;
  const message = `${counted(count, "review ends", "reviews end")} within ${limits.attention_due_minutes} minutes.`;
  return [{ kind: "due_soon", count, at_least: false, since, what: "reviews", message, rules: [], escalation_id }];
}

function outOfReachItem({ policy_id, policy, membrane_id, message }: OutOfReach, reviews: OpenReviews): AttentionItem {
  const waiting = reviews.by_rule.find((rule) => rule.policy === policy);
  return {
    ...{ kind: "no_reviewers", count: waiting?.count ?? 0, at_least: false, since: waiting?.since ?? null },
    ...{ what: policy, message, rules: [{ policy_id, policy }], membrane_id },
  };
}

function causeItem(cause: OpenReviews["causes"][number]): AttentionItem {
  const { kind, what, count } = cause;
  const waiting = counted(count, "review waits", "reviews wait");
  const message =
    kind === "missing_fact"
      ? `${waiting} because the fact ${what.replace(/^facts\./, "")} is missing or stale. Supply it, or switch the rule off.`
      : `${waiting} because no rule covers the tool ${what}. Write a rule for it.`;
  return { ...cause, at_least: false, message };
}

function webhookItem({ what, count, since, webhook_id }: FailingWebhook): AttentionItem {
  const message = `${counted(count, "delivery", "deliveries")} to ${what} failed in the last 24 hours.`;
  return { kind: "deliveries_failing", count, at_least: false, since, what, message, rules: [], webhook_id };
}

function logItem({ problem, since }: StoppedLog): AttentionItem {
  const happened = problem === "shrunk" ? "are missing" : "were changed";
  const message = `No checkpoint of the log is signed, because entries under an earlier one ${happened} in the database. Run countersign audit verify.`;
  return { kind: "log_stopped", count: null, at_least: false, since, what: "log", message, rules: [] };
}

function streamItem({ stream_id, name, lag_seconds, since, problem }: LateStream): AttentionItem {
  const minutes = counted(Math.floor(lag_seconds / 60), "minute", "minutes");
  const message = `The stream ${name} is ${minutes} behind. ${problem ?? "No attempt failed."}`;
  return { kind: "stream_behind", count: null, at_least: false, since, what: name, message, rules: [], stream_id };
}

const mailItem: AttentionItem = {
  ...{ kind: "failed_mail", count: null, at_least: false, since: null, what: "mail", rules: [] },
  message: "Mails of the service wait for over ten minutes. Check the mail server and SMTP_URL.",
};
