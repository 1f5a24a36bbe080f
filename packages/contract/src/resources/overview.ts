import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { Verdict } from "./decision.ts";
import { WarnedKey } from "./people/api-key.ts";
import { closed, givenId, nullable, oneOf, PipelineMode, text, timeInput, timestamp } from "./shapes.ts";

const count = () => Type.Integer({ minimum: 0 });

/** Without times: the last 24 hours. The service extends the window to whole hours. */
export const OverviewQuery = closed({
  from: Type.Optional(timeInput("included; at most 31 days before `to`; extended to the whole hour before")),
  to: Type.Optional(timeInput("not included; default now; extended to the whole hour after")),
  membrane_id: Type.Optional(givenId("prefix mem_")),
  mode: Type.Optional(PipelineMode),
});

const latency_ms = (share: string) =>
  Type.Number({ minimum: 0, description: `milliseconds that ${share} of the decisions did not exceed` });

/** Durations of decisions since the start of this node. */
const DecisionLatency = Type.Object(
  {
    since: timestamp("the first decision that was counted"),
    count: Type.Integer({ minimum: 1 }),
    p50_ms: latency_ms("half"),
    p95_ms: latency_ms("95 %"),
    p99_ms: latency_ms("99 %"),
  },
  {
    title: "DecisionLatency",
    description:
      "Durations of this organization's decisions, from the start of a submission to its commit. Counted by the node " +
      "that answers, since its start, in every mode and independent of the window. Null in the overview: this node has " +
      "decided none. A figure is never too low, and at most a sixteenth too high.",
  },
);

export const MissingFacts = Type.Object(
  {
    decisions: Type.Integer({
      minimum: 0,
      description: "decisions in which a rule stopped or changed the action because a fact was missing, null or stale",
    }),
    share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: "their share of all decisions",
    }),
    facts: Type.Array(
      Type.Object({
        path: text(256, { description: "e.g. facts.security.prompt_injection_detected" }),
        decisions: count(),
        rules: Type.Array(
          Type.Object({
            policy_id: text(limits.label_chars_max),
            policy: text(limits.label_chars_max, { description: "the rule's name" }),
            pack: nullable(text(64, { description: "null: a policy of your own" })),
          }),
          { description: "the rules that needed the fact" },
        ),
      }),
      { maxItems: limits.missing_facts_max, description: "the most frequent first" },
    ),
    next_steps: Type.Array(text(1_000), { description: "next steps; empty if no fact is missing" }),
  },
  { title: "MissingFacts" },
);
export type MissingFacts = Static<typeof MissingFacts>;

const OverviewRule = Type.Object({
  policy_id: nullable(text(limits.label_chars_max)),
  policy: text(limits.label_chars_max),
  effect: oneOf(["block", "escalate", "approve_modified"]),
  count: count(),
  missing_facts: Type.Integer({
    minimum: 0,
    description: "in how many of them the most frequent missing fact of the rule was missing; there may be more",
  }),
});

const PeriodBefore = Type.Object(
  {
    from: timestamp("included"),
    to: timestamp("not included; where the window begins"),
    complete: Type.Boolean({ description: "as of the window" }),
    decisions: count(),
    verdicts: Type.Object({ approve: count(), approve_modified: count(), escalate: count(), block: count() }),
    policies: Type.Array(OverviewRule, { description: "the rules of `policies` that acted in this period" }),
  },
  { title: "PeriodBefore", description: "the same counts of the period of the same length before the window" },
);

const answerTimes = {
  reviews: count(),
  median_seconds: Type.Number({ minimum: 0, description: "from the submission to the final ruling" }),
  p90_seconds: Type.Number({ minimum: 0 }),
};

const ReviewPeople = Type.Object(
  {
    asked: Type.Array(
      Type.Object({
        reviewer: nullable(
          text(limits.label_chars_max, {
            description: "as the filter `reviewer` of escalations takes it, such as role:operator; null: any reviewer",
          }),
        ),
        reviews: count(),
      }),
      { description: "who may decide the newest open reviews in live mode, the most reviews first; up to 10" },
    ),
    answers: nullable(
      Type.Object({ ...answerTimes, at_least: Type.Boolean({ description: "true: more reviews than were counted" }) }),
    ),
    membranes: Type.Array(Type.Object({ membrane_id: text(64), name: text(limits.name_chars_max), ...answerTimes }), {
      description: "the same for each membrane, the most reviews first; up to 10",
    }),
  },
  {
    title: "ReviewPeople",
    description:
      "the people behind the reviews. `answers`: of reviews that were opened in the window and decided; null: none",
  },
);

export const Overview = Type.Object(
  {
    from: timestamp("included; a whole hour"),
    to: timestamp("not included; a whole hour, which may not be over"),
    bucket_seconds: Type.Integer({
      minimum: 3_600,
      description: "length of a bucket, whole hours; the last may be shorter",
    }),
    buckets: Type.Array(Type.Object({ at: timestamp(), mode: PipelineMode, verdict: Verdict, count: count() }), {
      description: "in order of time; buckets without decisions are omitted",
    }),
    decisions: count(),
    complete: Type.Boolean({
      description:
        "true: every decision of the window is counted. false: the service still counts older decisions, as after an upgrade or " +
        "a rebuild; only decisions up to `as_of` are counted",
    }),
    as_of: Type.Object(
      {
        seq: Type.Integer({ minimum: 0, description: "decisions up to this entry of the audit trail are counted" }),
        at: nullable(timestamp("the newest counted decision of the organization; null: there is none")),
      },
      { description: "the last counted decision" },
    ),
    risk: Type.Array(count(), {
      description: "decisions by risk score, in ten steps of 0.1; the last step includes 1",
    }),
    policies: Type.Array(OverviewRule, {
      description: "the policies that stopped or changed the most decisions, in descending order",
    }),
    before: PeriodBefore,
    people: ReviewPeople,
    missing_facts: MissingFacts,
    agents: Type.Array(
      Type.Object({
        agent_id: text(limits.agent_id_chars_max),
        count: count(),
        held: Type.Integer({ minimum: 0, description: "blocked or escalated" }),
      }),
      {
        description:
          "the busiest agents in descending order, from the 100 busiest of each hour or day. The counts are exact",
      },
    ),
    contradictions: Type.Integer({
      minimum: 0,
      maximum: limits.counted_contradictions_max,
      description:
        "reports that an action was executed although it was blocked, in review, withdrawn, unclaimed although a claim was required, or after its approval had expired. " +
        "The audit trail has a record of type `contradicted` for each. Counted up to the maximum",
    }),
    nobody_can_decide: Type.Array(
      Type.Object({
        policy_id: nullable(text(limits.label_chars_max, { description: "null: the membrane's own reviewers" })),
        policy: text(limits.label_chars_max, { description: "the policy's name, or `membrane.escalation`" }),
        membrane: text(limits.name_chars_max, { description: "the live membrane in which too few people can approve" }),
        message: text(limits.comment_chars_max),
      }),
      { description: "live rules with too few people who can approve now, independent of the window" },
    ),
    queue: Type.Object({
      pending: count(),
      due_soon: Type.Integer({
        minimum: 0,
        description: `those that end within ${limits.attention_due_minutes} minutes`,
      }),
      oldest_at: nullable(timestamp()),
      next_expires_at: nullable(timestamp()),
    }),
    keys: Type.Array(WarnedKey, {
      maxItems: limits.key_warnings_max,
      description: "the newest keys with a warning: their holders may escape the rules, or their keys will soon expire",
    }),
    latency: nullable(DecisionLatency),
  },
  { title: "Overview" },
);
export type Overview = Static<typeof Overview>;
