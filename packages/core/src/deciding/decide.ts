/**
 * Decides on an intent. Equal inputs give equal bytes. The order of policies and facts does not matter.
 *
 *   intent, facts, policy set, membrane
 *        │
 *     classify ──────── action: type and data classes by the catalogue
 *     bindFacts ─────── views: the action and its facts, as expressions read them
 *     evaluate ──────── votes on the submitted action, and on names that look alike
 *     planChanges ───── plan: the requested changes as one JSON patch
 *     evaluateAgain ─── objections: new votes on the modified action
 *     countAction ───── counts: how the action adds to the counters of the policies
 *     conclude ──────── verdict: the strictest effect of all votes (result of judge)
 *     explain ───────── reasons, review terms, validity            (result of decide)
 *
 * Each stage takes the previous record and adds one part.
 *
 * - *view*: one reading of the facts. A stale fact is unknown in the fresh view and keeps its value in the raw view.
 * - *vote*: the effect of one policy, its changes and its risk.
 * - *change*: one `modify` step with its value.
 * - *redaction*: a change that removes or redacts a value.
 * - *plan*: the changes to make, and the votes after conflicts.
 * - *objection*: a vote that only the modified action got.
 * - *reason*: a vote in words.
 */
import { countAction } from "../counters/counted.ts";
import { bindFacts } from "./bind-facts.ts";
import { classify } from "./classify.ts";
import { type Concluded, conclude } from "./conclude.ts";
import type { Decided, DecideInput } from "./decision.ts";
import { evaluateAgain } from "./evaluate-again.ts";
import { evaluate } from "./evaluate-readings.ts";
import { explain } from "./explain.ts";
import { planChanges } from "./plan-changes.ts";

/** Computes the verdict, its reasons, the review terms and the time until which the verdict holds. */
export function decide(input: DecideInput): Decided {
  return explain(judge(input));
}

/** Computes the verdict without messages. Same verdict as `decide`, at about half the cost. */
export function judge(input: DecideInput): Concluded {
  const classified = classify(input);
  const bound = bindFacts(classified);
  const evaluated = evaluate(bound);
  const planned = planChanges(evaluated);
  const reevaluated = evaluateAgain(planned);
  const counted = countAction(reevaluated);
  return conclude(counted);
}
