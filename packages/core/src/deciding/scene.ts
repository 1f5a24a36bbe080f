import { nullFact, Timestamp, unknown } from "@countersign/cel";
import { limits as contractLimits } from "@countersign/contract";
import { freshView, type Marker, rawView } from "../facts/staleness.ts";
import type { DecidedAction } from "../policy/action.ts";
import type { Scene, SceneBindings, View } from "../policy/evaluate.ts";
import { us_per_second } from "../time.ts";
import type { DecideInput } from "./decision.ts";
import type { PreparedMembrane } from "./policy-set.ts";

type Content = Readonly<Record<string, unknown>>;

const nothing: Content = Object.freeze({});

/** That a fact was null switches rules on through the raw view; as stale good news it counts as missing, not as null. */
const marker: Marker = (path, reason) =>
  reason === "null" ? nullFact(path) : unknown(path, reason === "stale" ? "stale" : "null");

/** A claim that only the service itself or an attesting role may make. Source: policies.md §6. */
export const attested_claim = "human_reviewed";

/**
 * payload.content as policies see it: what the service knows about a person's review stands in for what a submitter
 * claims, and an unattested claim is not there at all. Null when there is no content.
 */
export function attestedContent(input: DecideInput): Content | null {
  const content = input.intent.payload?.content ?? null;
  if (input.human_reviewed === true) return { ...content, [attested_claim]: true };
  if (content === null || input.attested === true || !Object.hasOwn(content, attested_claim)) return content;
  const { [attested_claim]: _, ...rest } = content;
  return rest;
}

/**
 * The scenes of one action with one content: one per staleness profile, made when a policy of that profile is first
 * evaluated. All share one cost budget.
 */
export function scenesOf(
  input: DecideInput,
  prepared: PreparedMembrane,
  action: DecidedAction,
  content: Content | null,
): (profile: number) => Scene {
  const made: Scene[] = [];
  const raw = rawView(input.facts, marker);
  const seconds = Math.floor(input.now_us / us_per_second);
  const now = new Timestamp(seconds, (input.now_us - seconds * us_per_second) * 1000);
  const view = (facts: SceneBindings["facts"]): View => {
    const bindings = bindingsOf(input, action, content, facts);
    return { bindings, evaluation: input.policySet.begin(bindings, now) };
  };
  const options = { now, budget: input.budget ?? { left: input.cost_budget ?? contractLimits.policy_cost_budget } };
  return (profile) => {
    const known = made[profile];
    if (known !== undefined) return known;
    const ages = prepared.limits[profile];
    if (ages === undefined) throw new RangeError(`no staleness profile ${profile}`);
    const fresh = freshView(input.facts, raw, ages, input.now_us, marker);
    const scene: Scene = {
      fresh: view(fresh),
      raw: fresh === raw ? null : view(raw),
      unscoped: isScopeStale(raw, fresh) ? view(withoutScope(raw)) : null,
      not_pulled: input.facts.not_pulled ?? null,
      options,
    };
    made[profile] = scene;
    return scene;
  };
}

/** The fact that says which laws apply: news that one does not is good news, and stale good news is missing. */
const scope_fact = "applicable_frameworks";

function isScopeStale(raw: SceneBindings["facts"], fresh: SceneBindings["facts"]): boolean {
  return raw !== fresh && raw.regulatory[scope_fact] !== fresh.regulatory[scope_fact];
}

function withoutScope(raw: SceneBindings["facts"]): SceneBindings["facts"] {
  const { [scope_fact]: _, ...regulatory } = raw.regulatory;
  return { ...raw, regulatory };
}

function bindingsOf(
  input: DecideInput,
  action: DecidedAction,
  content: Content | null,
  facts: SceneBindings["facts"],
): SceneBindings {
  const { intent } = input;
  const target = intent.action.target ?? nothing;
  return {
    intent:
      content === (intent.payload?.content ?? null) ? intent : { ...intent, payload: { ...intent.payload, content } },
    agent: intent.agent,
    action: { type: action.type, verb: intent.action.verb, target },
    target,
    params: content ?? nothing,
    impact: intent.estimated_impact ?? nothing,
    data_classes: action.data_classes,
    facts,
    vars: null,
    memo: [],
    mode: input.mode,
  };
}
