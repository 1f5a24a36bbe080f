import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { Verdict } from "../decision.ts";
import { MissingFacts } from "../overview.ts";
import { WarnedKey } from "../people/api-key.ts";
import { closed, id, nullable, oneOf, text, timestamp } from "../shapes.ts";
import { Coverage } from "./coverage.ts";

const count = (description?: string) => Type.Integer({ minimum: 0, ...(description !== undefined && { description }) });
const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const rate = (description: string) => Type.Number({ minimum: 0, description });
const few = { maxItems: limits.readiness_listed_max };

/** Why a membrane is not ready to go live, or a version of a policy to be activated. */
export const notReadyCodes = [
  "counting",
  "too_few_decisions",
  "too_few_days",
  "missing_facts",
  "uncovered_actions",
  "nobody_can_decide",
  "too_many_reviews",
  "false_holds",
  "webhooks_failing",
  "mail",
  "unbound_keys",
  "admin_keys",
  "no_backtest",
  "reviewers_disagree",
] as const;

export const NotReady = Type.Object(
  {
    code: oneOf(notReadyCodes),
    message: text(1_000, { description: "what is missing, with its numbers" }),
    next_step: text(1_000, { description: "what to do about it" }),
  },
  { title: "NotReady" },
);
export type NotReady = Static<typeof NotReady>;

const Share = Type.Object(
  {
    count: count("decisions"),
    share: share("of all decisions; 0 without any"),
    low: share("lower end of the 95 % interval of the share (Wilson)"),
    high: share("upper end of the 95 % interval of the share (Wilson)"),
  },
  { title: "ShareOfDecisions" },
);

const PerDay = Type.Object(
  {
    count: count("decisions"),
    per_day: rate("decisions a day"),
    low: rate("lower end of the 95 % interval (Poisson, exact)"),
    high: rate("upper end of the 95 % interval (Poisson, exact)"),
  },
  { title: "DecisionsPerDay" },
);

const Held = Type.Object(
  {
    intent_id: id("intent"),
    agent_id: text(limits.agent_id_chars_max),
    verb: text(limits.verb_chars_max),
    verdict: Verdict,
    at: timestamp(),
    rules: Type.Array(text(limits.label_chars_max), { description: "names of the rules that would have held it" }),
  },
  { title: "HeldInShadow" },
);

export const MembraneReadiness = Type.Object(
  {
    membrane_id: id("membrane"),
    from: timestamp("included; a whole hour"),
    to: timestamp("not included; a whole hour, which may not be over"),
    verdict: oneOf(["ready", "not_yet"]),
    not_ready: Type.Array(NotReady, { description: "empty: the verdict is ready" }),
    evidence: Type.Object({
      complete: Type.Boolean({ description: "false: the service still counts earlier decisions" }),
      decisions: count("decisions in shadow"),
      days: count("days (UTC) with decisions"),
      first_at: nullable(timestamp("the whole hour of the first decision; null: there is none")),
    }),
    passes: Share,
    holds: PerDay,
    blocks: PerDay,
    reviews: Type.Object({
      people: count("people who may decide the membrane's reviews now"),
      median_seconds: nullable(
        rate("from the first sight of a review to the ruling, all reviewers in 30 days; null: none was measured"),
      ),
      hours_per_day: rate(
        `hours that the reviews of a day take; ${limits.readiness_review_seconds_default / 60} minutes each as long as none was measured`,
      ),
    }),
    missing_facts: MissingFacts,
    uncovered: Type.Object({
      actions: Type.Array(Type.Pick(Coverage.properties.actions.items, ["verb", "type", "count"]), {
        ...few,
        description: "actions that agents submitted and that no rule names",
      }),
      tools: Type.Array(text(limits.verb_chars_max), {
        ...few,
        description: "tools of the action catalogue that are in none of the counted intents; see GET …/coverage",
      }),
      agents: Type.Array(text(limits.agent_id_chars_max), {
        ...few,
        description: "registered agents that did nothing in these days, in any membrane",
      }),
    }),
    webhooks: Type.Object({
      active: count("webhooks that are on"),
      failing: Type.Array(
        Type.Object({ webhook_id: id("webhook"), failed: count("deliveries that failed in the last 24 hours") }),
        few,
      ),
    }),
    mail: oneOf(["working", "delayed", "off"], {
      description: "off: the service writes mails to files. delayed: a mail has waited for over ten minutes",
    }),
    keys: Type.Array(WarnedKey, { maxItems: limits.key_warnings_max }),
    false_holds: Type.Object(
      {
        population: count(
          `actions that would have been held, from which the sample is drawn: the newest ${limits.readiness_holds_max} of these days`,
        ),
        labelled: count(),
        wrong: count(),
        share_at_most: nullable(
          share("95 % sure upper bound of the share of wrong holds (Clopper-Pearson); null: no label"),
        ),
        share_at_least: nullable(share("95 % sure lower bound; null: no label")),
        sample: Type.Array(Held, {
          maxItems: limits.readiness_sample_max,
          description: "the next holds to label, drawn at random, without those that have a label",
        }),
      },
      { description: "what people say about a random sample of the actions that would have been held" },
    ),
  },
  { title: "MembraneReadiness" },
);
export type MembraneReadiness = Static<typeof MembraneReadiness>;

export const HoldLabelInput = closed(
  { is_right: Type.Boolean({ description: "true: holding the action was right. false: it should have passed" }) },
  { title: "HoldLabelInput" },
);
export type HoldLabelInput = Static<typeof HoldLabelInput>;

export const HoldLabel = Type.Object(
  {
    intent_id: id("intent"),
    membrane_id: id("membrane"),
    is_right: Type.Boolean(),
    labelled_by: text(limits.label_chars_max, { description: "user_id or key_id" }),
    labelled_at: timestamp(),
  },
  { title: "HoldLabel" },
);
export type HoldLabel = Static<typeof HoldLabel>;
