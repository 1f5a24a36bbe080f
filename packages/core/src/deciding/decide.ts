/**
 * Decides on an intent. The same input gives the same bytes, in whatever order policies and facts are given.
 *
 *   intent, facts, policy set, membrane
 *        │
 *     classify ──────── action: type and data classes by the catalogue
 *     bindFacts ─────── views of the action and its facts
 *     evaluate ──────── votes on the submitted action
 *     planChanges ───── plan: the changes that the votes ask for, as one JSON patch
 *     evaluateAgain ─── objections: new votes on the modified action
 *     conclude ──────── verdict: the strictest effect of all votes  ──>  judge
 *     explain ───────── reasons, review terms, how long it holds    ──>  decide
 *
 * Each stage takes the record of the stage before and returns it with its own part.
 *
 * - *action*: what the agent asks to do, with the type and data classes that the membrane's catalogue gives it.
 * - *view*: one reading of the facts. Stale facts are unknown in the fresh view and as given in the raw view.
 * - *evaluation*: every policy that matches the action, evaluated once on one content.
 * - *vote*: what one policy says: its effect, the changes that it asks for, and the risk that it adds.
 * - *change*: one `modify` step of a vote, with its value.
 * - *redaction*: a change that removes or redacts a value. People never see that value.
 * - *plan*: the changes that are made, and the votes after conflicts between changes.
 * - *objection*: a vote on the modified action that the submitted action did not get.
 * - *override*: a person's permission that cancels blocks and escalations of some policies.
 * - *reason*: a vote in words.
 */
import { bindFacts } from "./bind-facts.ts";
import { classify } from "./classify.ts";
import { type Concluded, conclude } from "./conclude.ts";
import type { Decided, DecideInput } from "./decision.ts";
import { evaluate } from "./evaluate.ts";
import { evaluateAgain } from "./evaluate-again.ts";
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
