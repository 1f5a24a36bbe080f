import Type, { type Static } from "typebox";
import { assuranceNames } from "../facts/assurance.ts";
import { limits } from "../limits.ts";
import { Verdict } from "./decision.ts";
import { ErrorObject } from "./error.ts";
import { SomeThresholds } from "./membranes/membrane.ts";
import {
  anyObject,
  closed,
  givenId,
  id,
  listQuery,
  nullable,
  oneOf,
  text,
  timeInput,
  timestamp,
  wrapped,
} from "./shapes.ts";

const count = () => Type.Integer({ minimum: 0 });

/** Body of POST /v1/learning/backtest. Without a candidate the backtest reproduces the recorded decisions. */
export const BacktestInput = closed(
  {
    candidate: Type.Optional(
      closed(
        {
          policies: Type.Optional(
            Type.Array(anyObject(), {
              maxItems: limits.backtest_policies_max,
              description:
                "policy documents that count as active; each replaces your policy of the same name, or is added",
            }),
          ),
          packs: Type.Optional(Type.Array(text(64), { maxItems: 100, description: "replaces the membrane's packs" })),
          thresholds: Type.Optional({
            ...SomeThresholds,
            description: "each given value replaces the membrane's",
          }),
          without: Type.Optional(
            Type.Array(text(128), {
              maxItems: limits.backtest_policies_max,
              description: "names of policies and rules to omit",
            }),
          ),
        },
        { description: "The changes to test. Everything else stays as recorded." },
      ),
    ),
    window: closed({ from: timeInput("included"), to: timeInput("not included") }),
    membrane_id: Type.Optional(givenId("prefix mem_")),
    agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.backtest_intents_max,
        default: limits.backtest_intents_max,
        description: "this many of the newest intents of the window",
      }),
    ),
    keep: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          `keeps the result: GET /v1/backtests/{backtest_id} answers it for ${limits.backtest_kept_days} days, or until ` +
          `${limits.backtests_kept_max} newer ones are kept. Not for keys that only submit`,
      }),
    ),
  },
  { title: "BacktestInput" },
);
export type BacktestInput = Static<typeof BacktestInput>;

/** Why a recorded verdict was not reproduced. */
export const notReproducedBecause = {
  membrane_unknown: "the trail does not have the membrane's settings at the time of the decision",
  policy_unknown: "a policy version that was active at the time is not stored",
  packs_changed: "a release has changed a pack that was on at the time",
  override_unknown: "the decision rests on the approval of an equal action, or on an override that is not stored",
  erased: "the content of the decision was erased",
  record_unreadable: "this version cannot read the record",
  verdict_differs: "all inputs are as recorded, but the verdict differs",
} as const;

export type NotReproducedBecause = keyof typeof notReproducedBecause;

const BacktestFlip = Type.Object(
  {
    intent_id: id("intent"),
    submitted_at: timestamp(),
    agent_id: text(limits.agent_id_chars_max),
    action: Type.Object({
      type: text(limits.action_type_chars_max, { description: "after the membrane's catalogue, in lower case" }),
      verb: text(limits.verb_chars_max),
    }),
    from: Verdict,
    to: Verdict,
    policies: Type.Array(text(128), {
      description: "the reasons of the new verdict, or of the old one if the new one is an approval",
    }),
    reasons: Type.Array(
      Type.Object({ policy: text(128), effect: text(32), message: text(limits.policy_message_bytes_max) }),
      {
        description: "of the new verdict",
      },
    ),
  },
  { title: "BacktestFlip" },
);

const FlipGroup = Type.Object(
  {
    policies: Type.Array(text(128), {
      description: "as in the flips of the group; empty: nothing names them, such as a threshold or the default",
    }),
    from: Verdict,
    to: Verdict,
    count: Type.Integer({ minimum: 1 }),
    amount_usd: Type.Number({
      minimum: 0,
      description: "sum of the amounts at stake: the agent's own figure, or a larger parameter that ends with _usd",
    }),
    examples: Type.Array(id("intent"), {
      maxItems: limits.backtest_flip_examples_max,
      description: "newest first",
    }),
  },
  { title: "BacktestFlipGroup" },
);

const VerdictCounts = Type.Object(
  { approve: count(), approve_modified: count(), escalate: count(), block: count() },
  { title: "VerdictCounts" },
);

const ReviewerAgreement = Type.Object(
  {
    rulings: Type.Integer({
      minimum: 0,
      description: "rulings of people on intents that the replayed verdict decides without a review",
    }),
    agreed: count(),
    share: nullable(Type.Number({ minimum: 0, maximum: 1, description: "null: no such rulings" })),
    low: Type.Number({ minimum: 0, maximum: 1, description: "lower end of the 95 % interval (Wilson)" }),
    high: Type.Number({ minimum: 0, maximum: 1, description: "upper end of the 95 % interval (Wilson)" }),
  },
  { title: "ReviewerAgreement" },
);

export const Backtest = Type.Object(
  {
    backtest_id: id("backtest"),
    evaluated: count(),
    elapsed_ms: Type.Number({ minimum: 0 }),
    reproduced: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "share of the recorded verdicts that were reproduced; null with a candidate, or without verdicts",
      }),
    ),
    not_reproduced: Type.Object(
      {
        total: count(),
        intents: Type.Array(
          Type.Object({
            intent_id: id("intent"),
            recorded: Verdict,
            replayed: nullable(Verdict),
            because: oneOf(Object.keys(notReproducedBecause) as NotReproducedBecause[], {
              description: Object.entries(notReproducedBecause)
                .map(([name, meaning]) => `${name}: ${meaning}`)
                .join("; "),
            }),
          }),
          { description: `at most ${limits.backtest_flips_max}` },
        ),
      },
      {
        description:
          "Without a candidate: which verdicts were not reproduced, and why. With one: which intents could not be replayed.",
      },
    ),
    transitions: Type.Array(Type.Object({ from: Verdict, to: Verdict, count: count() }), {
      description: "from the recorded to the replayed verdict, equal pairs included",
    }),
    flips: Type.Array(BacktestFlip, {
      description: `intents whose verdict changes, newest first, at most ${limits.backtest_flips_max}`,
    }),
    flips_total: count(),
    flip_groups: Type.Array(FlipGroup, {
      maxItems: limits.backtest_flip_groups_max,
      description: "all flips by policies and verdicts, most flips first; each flip is in one group",
    }),
    verdicts: Type.Object(
      {
        days: Type.Number({ minimum: 0, description: "length of the replayed part of the window" }),
        days_seen: Type.Integer({ minimum: 0, description: "days (UTC) with such intents" }),
        recorded: VerdictCounts,
        candidate: VerdictCounts,
      },
      { description: "of the intents that were replayed, in live and shadow mode" },
    ),
    per_policy: Type.Array(Type.Object({ policy: text(128), fired: count(), decisive: count(), unknown: count() }), {
      description:
        "how often each policy voted, how often its vote was the verdict, and how often it voted without knowing a fact",
    }),
    unknown_facts: Type.Array(
      Type.Object({
        path: text(256),
        count: count(),
        assurance: Type.Optional(
          oneOf(assuranceNames, {
            description: "the fact had this assurance, which was too low; absent: another reason",
          }),
        ),
        policies: Type.Array(text(128), {
          maxItems: limits.backtest_asking_policies_max,
          description: "the policies that asked for it, most often first",
        }),
      }),
      {
        description: `facts that were unknown, most often first, at most ${limits.backtest_unknown_facts_max}`,
      },
    ),
    escalations_per_day: Type.Object(
      { recorded: Type.Number({ minimum: 0 }), candidate: Type.Number({ minimum: 0 }) },
      { description: "escalate verdicts in live and shadow mode, divided by the replayed days of the window" },
    ),
    agrees_with_reviewers: ReviewerAgreement,
    human_agreement: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "share of people's rulings (decided reviews, overridden blocks) that agree with the replayed verdict, without replayed escalations; null: no such rulings",
      }),
    ),
  },
  { title: "Backtest" },
);
export type Backtest = Static<typeof Backtest>;

const kept = {
  backtest_id: id("backtest"),
  created_at: timestamp(),
  created_by: text(limits.label_chars_max, { description: "user_id or key_id" }),
  expires_at: timestamp("the service deletes it then, or earlier when newer ones take its place"),
};

export const KeptBacktest = Type.Object(
  { ...kept, input: BacktestInput, result: Backtest },
  {
    title: "KeptBacktest",
    description: `\`result.flips\` has at most ${limits.backtest_kept_flips_max} flips`,
  },
);
export type KeptBacktest = Static<typeof KeptBacktest>;

export const ListedBacktest = Type.Object(
  {
    ...kept,
    candidate: nullable(
      Type.Object(
        {
          policies: Type.Array(text(128)),
          packs: nullable(Type.Array(text(64))),
          thresholds: nullable(SomeThresholds),
          without: Type.Array(text(128)),
        },
        { description: "names only; null: the backtest reproduced the recorded decisions" },
      ),
    ),
    from: timestamp(),
    to: timestamp(),
    membrane_id: nullable(id("membrane")),
    agent_id: nullable(text(limits.agent_id_chars_max)),
    evaluated: count(),
    flips_total: count(),
    agrees_with_reviewers: ReviewerAgreement,
  },
  { title: "ListedBacktest" },
);
export type ListedBacktest = Static<typeof ListedBacktest>;

export const BacktestQuery = listQuery({});

export const BacktestProgress = Type.Object(
  {
    state: oneOf(["waiting", "running"]),
    evaluated: count(),
    done: Type.Number({ minimum: 0, maximum: 1, description: "estimated share" }),
    elapsed_ms: Type.Number({ minimum: 0 }),
  },
  { title: "BacktestProgress" },
);
export type BacktestProgress = Static<typeof BacktestProgress>;

/** A line for callers that accept application/x-ndjson: progress, then the result. */
export const BacktestLine = Type.Union(
  [Type.Object({ progress: BacktestProgress }), wrapped("backtest", Backtest), ErrorObject],
  { title: "BacktestLine", description: "a line: progress during the run, then the backtest or an error" },
);
