import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { Backtest } from "./backtest.ts";
import { MembraneReadiness, NotReady } from "./membranes/membrane-readiness.ts";
import { closed, id, nullable, oneOf, text, timestamp } from "./shapes.ts";

const count = (description: string) => Type.Integer({ minimum: 0, description });
const { passes, holds, blocks, reviews } = MembraneReadiness.properties;
const verdicts = { passes, holds, blocks };

const PolicyFigures = Type.Object(
  {
    backtest_id: id("backtest"),
    backtested_at: timestamp(),
    decisions: count("recorded actions in live and shadow mode that the backtest decided again"),
    days: count("days (UTC) with such actions"),
    flips: count("verdicts that would change, in all modes"),
    ...verdicts,
    recorded: Type.Object(verdicts, { description: "the same without the version" }),
    reviews,
    missing_facts: Type.Object(
      {
        fired: count("times that the policy fired"),
        unknown: count("of these, without knowing a fact"),
        facts: Type.Array(Type.Object({ path: text(256), count: count("times that it was unknown, to any rule") }), {
          maxItems: limits.readiness_listed_max,
          description: "facts that were unknown to this policy",
        }),
      },
      { description: "of this policy alone" },
    ),
    agrees_with_reviewers: Backtest.properties.agrees_with_reviewers,
  },
  { title: "PolicyFigures" },
);

export const PolicyReadiness = Type.Object(
  {
    policy_id: id("policy"),
    version: Type.Integer({ minimum: 1 }),
    verdict: oneOf(["ready", "not_yet"]),
    not_ready: Type.Array(NotReady, { description: "empty: the verdict is ready" }),
    figures: nullable(PolicyFigures),
  },
  {
    title: "PolicyReadiness",
    description: "`figures` is null: there is no kept backtest of this version, see the operation",
  },
);
export type PolicyReadiness = Static<typeof PolicyReadiness>;

export const PolicyReadinessQuery = closed({
  version: Type.Optional(Type.Integer({ minimum: 1, description: "default: the newest" })),
});
