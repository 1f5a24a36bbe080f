import type { Program } from "@countersign/cel";
import { folded, type Match } from "../policy/action-index.ts";
import { parseDurationSeconds, us_per_second } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";

/** Which actions a counter counts. `executed`: approved ones until a host reports that they failed or were skipped. */
export const countedStates = ["approve", "approve_modified", "pending", "executed"] as const;
export type CountedState = (typeof countedStates)[number];

/** The people that must agree to a reset or a grant: one operator, or two different ones. */
export const adjusters = ["operator", "two_person"] as const;

export type CalendarUnit = "hour" | "day" | "week" | "month";

/** A counter as policies write it. */
export interface CounterDocument {
  readonly name: string;
  /** CEL expressions. Actions with equal values are counted together. */
  readonly key: readonly string[];
  /** A CEL expression. Default: 1. */
  readonly value?: string;
  readonly window: string | { readonly calendar: CalendarUnit; readonly zone?: string };
  /** Default: `executed` and `pending`. */
  readonly counts?: readonly CountedState[];
  /** Whether values below zero count. Otherwise they are unknown. */
  readonly negative?: boolean;
  /** Default: `operator`. */
  readonly adjust?: (typeof adjusters)[number];
}

/** An earlier action that a policy asks about. */
export interface AfterDocument {
  readonly name: string;
  readonly match?: Match;
  readonly key: readonly string[];
  readonly within: string;
}

export type CounterWindow =
  | { readonly kind: "sliding"; readonly us: number }
  | { readonly kind: "calendar"; readonly unit: CalendarUnit; readonly zone: string };

/** A compiled counter or `after`. Its name is `count.<name>` or `after.<name>`, as expressions read it. */
export interface Track {
  readonly kind: "count" | "after";
  readonly name: string;
  readonly match: Match;
  readonly key: readonly Program[];
  /** Null: each action counts 1. */
  readonly value: Program | null;
  readonly negative: boolean;
  readonly window: CounterWindow;
  readonly counts: ReadonlySet<CountedState>;
  /** Whether a reset or a grant needs two people. If policies differ, it does. */
  readonly adjust_needs_two: boolean;
  /** Canonical text of the members that two policies with one name must write alike. */
  readonly text: string;
}

const defaultCounts: readonly CountedState[] = ["executed", "pending"];
/** An earlier action counts if it was approved, also if it failed later, or if it waits. */
const afterCounts: readonly CountedState[] = ["approve", "approve_modified", "pending"];

export function windowOf(window: CounterDocument["window"]): CounterWindow {
  if (typeof window === "string") return { kind: "sliding", us: (parseDurationSeconds(window) ?? 0) * us_per_second };
  return { kind: "calendar", unit: window.calendar, zone: window.zone ?? "UTC" };
}

/** Returns the members of a definition that all policies with its name must write alike, with defaults. */
export function countMembers({ key, value, window, counts = defaultCounts, negative = false }: CounterDocument) {
  return { key, value: value ?? null, window: windowOf(window), counts: [...counts].sort(), negative };
}

/** Returns the members of an earlier action that all policies with its name must write alike, with defaults. */
export function afterMembers({ match = {}, key, within }: AfterDocument) {
  return { match: folded(match), key, within: windowOf(within) };
}

/** Compiles the counters and earlier actions of one policy. `program` compiles an expression. */
export function compileTracks(
  spec: {
    readonly match?: Match;
    readonly counters?: readonly CounterDocument[];
    readonly after?: readonly AfterDocument[];
  },
  program: (source: string) => Program,
): readonly Track[] {
  const counters = (spec.counters ?? []).map((counter): Track => {
    const { name, key, value, window, counts = defaultCounts, negative = false, adjust } = counter;
    return {
      kind: "count",
      name: `count.${name}`,
      match: spec.match ?? {},
      key: key.map(program),
      value: value === undefined ? null : program(value),
      negative,
      window: windowOf(window),
      counts: new Set(counts),
      adjust_needs_two: adjust === "two_person",
      text: canonicalJson(countMembers(counter)),
    };
  });
  const earlier = (spec.after ?? []).map((action): Track => {
    const { name, match = {}, key, within } = action;
    return {
      kind: "after",
      name: `after.${name}`,
      match,
      key: key.map(program),
      value: null,
      negative: false,
      window: windowOf(within),
      counts: new Set(afterCounts),
      adjust_needs_two: false,
      text: canonicalJson(afterMembers(action)),
    };
  });
  return [...counters, ...earlier];
}
