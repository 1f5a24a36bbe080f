import Type, { type Static } from "typebox";
import { assuranceNames } from "../facts/assurance.ts";
import { limits } from "../limits.ts";
import { Verdict } from "./decision.ts";
import { ErrorObject } from "./error.ts";
import { SomeThresholds } from "./membrane.ts";
import { anyObject, closed, givenId, id, nullable, oneOf, text, timeInput, timestamp, wrapped } from "./shapes.ts";

const count = () => Type.Integer({ minimum: 0 });

/** Body of POST /v1/learning/backtest. Without a candidate the recorded decisions are reproduced. Source: api.md §10. */
export const BacktestInput = closed(
  {
    candidate: Type.Optional(
      closed(
        {
          policies: Type.Optional(
            Type.Array(anyObject(), {
              maxItems: limits.backtest_policies_max,
              description:
                "policy documents, as if each had been in force: in place of your policy of that name, else in addition",
            }),
          ),
          packs: Type.Optional(
            Type.Array(text(64), { maxItems: 100, description: "in place of the membrane's packs" }),
          ),
          thresholds: Type.Optional({
            ...SomeThresholds,
            description: "each that is given in place of the membrane's",
          }),
          without: Type.Optional(
            Type.Array(text(128), {
              maxItems: limits.backtest_policies_max,
              description: "names of policies and rules to leave out",
            }),
          ),
        },
        { description: "What would have been different; what it does not name stays as it was at each decision." },
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
        description: "the newest so many intents of the window",
      }),
    ),
  },
  { title: "BacktestInput" },
);
export type BacktestInput = Static<typeof BacktestInput>;

/** Why a recorded verdict was not met again. */
export const notReproducedBecause = {
  membrane_unknown: "the trail does not say how the membrane was set when the intent was decided",
  policy_unknown: "a version of a policy that was in force then is not stored",
  packs_changed: "a pack that was on then has changed with a release since",
  override_unknown: "it rests on the approval of an equal action, or on an override that is not stored",
  record_unreadable: "the record is not one that this version writes",
  verdict_differs: "everything is as recorded, and yet the verdict is another one",
} as const;

/** A value of `because`. */
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
      description: "what the new verdict rests on; of an approval: what the old one did",
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

/** What a candidate would have decided about recorded intents. */
export const Backtest = Type.Object(
  {
    backtest_id: id("backtest"),
    evaluated: count(),
    elapsed_ms: Type.Number({ minimum: 0 }),
    reproduced: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "share of the recorded verdicts that were met again; null with a candidate, and when there was none",
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
      { description: "Without a candidate: which were not, and why. With one: what could not be replayed." },
    ),
    transitions: Type.Array(Type.Object({ from: Verdict, to: Verdict, count: count() }), {
      description: "from the recorded verdict to the replayed one, equal ones included",
    }),
    flips: Type.Array(BacktestFlip, {
      description: `intents whose verdict changes, newest first, at most ${limits.backtest_flips_max}`,
    }),
    flips_total: count(),
    per_policy: Type.Array(Type.Object({ policy: text(128), fired: count(), decisive: count() }), {
      description: "how often each policy had a say, and how often the verdict was what it said",
    }),
    unknown_facts: Type.Array(
      Type.Object({
        path: text(256),
        count: count(),
        assurance: Type.Optional(
          oneOf(assuranceNames, {
            description: "the fact had a value of this assurance, which was too little; absent: another reason",
          }),
        ),
      }),
      {
        description: `facts that were unknown, most often first, at most ${limits.backtest_unknown_facts_max}`,
      },
    ),
    escalations_per_day: Type.Object(
      { recorded: Type.Number({ minimum: 0 }), candidate: Type.Number({ minimum: 0 }) },
      { description: "escalate verdicts in live and shadow mode by the days of the window that were replayed" },
    ),
    human_agreement: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "share of people's rulings (reviews decided, blocks overridden) that the replayed verdict agrees with, among those where it is no escalation; null: there are none",
      }),
    ),
  },
  { title: "Backtest" },
);
export type Backtest = Static<typeof Backtest>;

/** How far a backtest is. */
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

/** A line of the answer for callers that accept application/x-ndjson: progress while it runs, something else last. */
export const BacktestLine = Type.Union(
  [Type.Object({ progress: BacktestProgress }), wrapped("backtest", Backtest), ErrorObject],
  { title: "BacktestLine", description: "one line: progress while it runs, the backtest or an error last" },
);
