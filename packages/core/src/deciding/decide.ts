/**
 * Decides on an intent. The same input always gives the same bytes. The order of policies and facts does not matter.
 *
 *   intent, facts, policy set, membrane
 *        │
 *     classify ──────── action: type and data classes by the catalogue
 *     bindFacts ─────── views: the action and its facts, as expressions read them
 *     evaluate ──────── votes on the submitted action, and on what its names look like
 *     planChanges ───── plan: the changes that the votes ask for, as one JSON patch
 *     evaluateAgain ─── objections: new votes on the modified action
 *     conclude ──────── verdict: the strictest effect of all votes          (the result of judge)
 *     explain ───────── reasons, review terms, time until the verdict holds (the result of decide)
 *
 * Each stage takes the record of the previous stage and returns it with one more part.
 *
 * - *action*: what the agent asks to do, with the type and data classes that the membrane's catalogue gives it.
 * - *view*: one reading of the facts. A stale fact is unknown in the fresh view, and has its given value in the raw view.
 * - *evaluation*: the votes of all policies that match the action, on the submitted or on the modified content.
 * - *vote*: what one policy says: its effect, the changes that it asks for, and the risk that it adds.
 * - *change*: one `modify` step of a vote, with its value.
 * - *redaction*: a change that removes or redacts a value. People never see that value.
 * - *plan*: the changes that Countersign makes, and the votes after conflicts between changes.
 * - *objection*: a vote on the modified action that the submitted action did not get.
 * - *override*: a person's permission that cancels blocks and escalations of some policies.
 * - *reason*: a vote in words.
 */
import { bindFacts } from "./bind-facts.ts";
import { classify } from "./classify.ts";
import { type Concluded, conclude } from "./conclude.ts";
import type { Decided, DecideInput } from "./decision.ts";
import { evaluateAgain } from "./evaluate-again.ts";
import { evaluate } from "./evaluate-readings.ts";
import { explain } from "./explain.ts";
import { planChanges } from "./plan-changes.ts";

/** Computes the verdict with reasons, review terms and the time until which it holds. */
export function decide(input: DecideInput): Decided {
  return explain(judge(input));
}

/** Computes the verdict without words: the verdict of `decide`, at about half the cost. */
export function judge(input: DecideInput): Concluded {
  const classified = classify(input);
  const bound = bindFacts(classified);
  const evaluated = evaluate(bound);
  const planned = planChanges(evaluated);
  const reevaluated = evaluateAgain(planned);
  return conclude(reevaluated);
}
