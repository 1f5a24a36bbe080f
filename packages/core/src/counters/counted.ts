import { Unknown } from "@countersign/cel";
import { viewsOfContent } from "../deciding/bind-facts.ts";
import { type Classified, classify } from "../deciding/classify.ts";
import type { Content } from "../deciding/decision.ts";
import type { Reevaluated } from "../deciding/evaluate-again.ts";
import { asAncestor } from "../deciding/evaluate-readings.ts";
import { lookAlikesOf, readingsOf } from "../deciding/look-alikes.ts";
import { countPlace } from "./count-reads.ts";
import { ownCount } from "./counting.ts";
import { windowEndUs } from "./windows.ts";

/** How an action counts in one counter. */
export interface CountedAction {
  /** `count.<name>` or `after.<name>`. */
  readonly name: string;
  readonly key: string;
  /** In millionths; null: the action has no usable amount. */
  readonly micros: number | null;
  readonly values: Readonly<Record<string, string>>;
  /** The first time at which it no longer counts, if it counts from the time of the decision on. */
  readonly ends_us: number;
}

const none: readonly never[] = Object.freeze([]);

/** The record after `countAction`. */
export interface WithCounts extends Reevaluated {
  readonly counts: {
    /** How the action counts if it is carried out as planned. */
    readonly actions: readonly CountedAction[];
    /** The counters that take no new key, because the organization has as many as it may. */
    readonly full: readonly string[];
  };
}

const nothing: WithCounts["counts"] = Object.freeze({ actions: none, full: none });

/** Stage 6: computes how the planned action counts in the counters of the policies. */
export function countAction(record: Reevaluated): WithCounts {
  const { input, modified } = record;
  if (input.policySet.tracks.byName.size === 0) return { ...record, counts: nothing };
  const actions = countedAs(record, modified.plan.content);
  const full = new Set<string>();
  for (const { name, key, values } of actions) {
    // Each counter is read, also one that no rule reads, so that its key is loaded before the commit.
    const track = input.policySet.tracks.byName.get(name);
    if (track !== undefined && input.counts?.read(track, key, values)?.full === true) full.add(name);
  }
  return { ...record, counts: { actions, full: [...full] } };
}

/**
 * Returns how an action with this content counts: as the action of its agent, and of each agent above it. An action with names that look like
 * known ones counts like the action with the known names, too, because rules are evaluated on that reading.
 */
export function countedAs(record: Classified, content: Content | null): readonly CountedAction[] {
  const { input } = record;
  const counted = new Map<string, CountedAction>();
  const superiors = (input.facts.ancestors ?? none).map((ancestor) => classify(asAncestor(input, ancestor)));
  for (const reading of [record, ...superiors].flatMap((each) => [each, ...knownReadings(each)])) {
    const tracks = input.policySet.tracks.appliedTo(reading.action.key);
    if (tracks.length === 0) continue;
    const { evaluation } = viewsOfContent(reading, content)(0).fresh;
    for (const track of tracks) {
      evaluation.left = count_cost_max;
      const { key, micros, values } = ownCount(track, evaluation);
      const place = key instanceof Unknown ? null : countPlace(track.name, key);
      if (key instanceof Unknown || place === null || counted.has(place)) continue;
      counted.set(place, {
        name: track.name,
        key,
        micros: micros instanceof Unknown ? null : micros,
        values,
        ends_us: windowEndUs(track.window, input.now_us),
      });
    }
  }
  return [...counted.values()];
}

/** Returns the action with known names in place of those that look like them. With too many readings, it counts as written only. */
function knownReadings({ input, action: { prepared } }: Classified): readonly Classified[] {
  const look_alikes = lookAlikesOf(input.intent, prepared.names.counted);
  if (look_alikes.length === 0) return none;
  return (readingsOf(input.intent, look_alikes) ?? none).map(({ intent }) => classify({ ...input, intent }));
}

/** The cost of the expressions of one counter. */
const count_cost_max = 100_000;
