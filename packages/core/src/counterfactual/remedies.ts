import type { EvaluateOptions, Program } from "@countersign/cel";
import type { ApprovalChange } from "@countersign/contract";
import { amountOf, microsOf } from "../counters/amount.ts";
import { type Bindings, bindVariables } from "../deciding/bind-facts.ts";
import type { CompiledPolicy } from "../policy/compile.ts";

import { canonicalJson } from "../values/canonical-json.ts";
import { jsonValue } from "../values/json-value.ts";
import { type ChangePlace, type PlacedChange, placedChange, textOf } from "./change.ts";
import { type Clue, type Condition, type CountedClue, conditionsOf } from "./condition.ts";
import { argumentSamples, isPossible, presenceSamples } from "./samples.ts";

/** One change per path, sorted by path. Empty: no change needed. */
export type ChangeSet = readonly PlacedChange[];

const changes_max = 3;

const alternatives_max = 16;
const values_max = 4;

const far = 1e12;
const nearestFirst: ReadonlySet<Clue["kind"]> = new Set(["bound", "argument", "counted"]);

export interface Situation {
  readonly now_us: number;
  readonly options: EvaluateOptions;
  /** Null if the changes cannot be made. */
  readonly bindings: (policy: CompiledPolicy, changes: ChangeSet) => Bindings | null;
  /** Bindings without redacted values, to compute offered values. */
  readonly shown: (policy: CompiledPolicy) => Bindings;
  readonly current: (place: ChangePlace) => unknown;
  /** Redacted values and alarms must not change. */
  readonly isBarred: (place: ChangePlace) => boolean;
  /** 0: missing or stale fact, 1: parameter, 2: fact with another value. */
  readonly rank: (place: ChangePlace) => number;
  /** `name` is `count.<name>`. Null if the counter is unknown. */
  readonly counted: (policy: CompiledPolicy, name: string) => CountedSoFar | null;
}

/** The sum of the earlier actions in the counter of this action. */
export interface CountedSoFar {
  /** The parameter that the counter adds up; null: another expression, or this action does not count. */
  readonly place: ChangePlace | null;
  /** Of the earlier actions, in millionths; null: unknown. */
  readonly micros: number | null;
  /** Returns the time at which the number or the sum has fallen by `by`; null: never, or not known. */
  readonly fallsByUs: (field: "n" | "micros", by: number) => number | null;
}

/** Returns the changes that keep a policy from firing, smallest first. Other policies may still stop the action. */
export function remediesOf(policy: CompiledPolicy, situation: Situation): readonly ChangeSet[] {
  const { when, require } = conditionsOf(policy);
  const finder = new Finder(policy, situation);
  return smallestFirst([
    ...(when === null ? [] : finder.ways(when, false)),
    ...(require === null ? [] : finder.ways(require, true)),
  ]).slice(0, alternatives_max);
}

class Finder {
  private readonly policy: CompiledPolicy;
  private readonly situation: Situation;
  private readonly known = new Map<Condition, [readonly ChangeSet[] | null, readonly ChangeSet[] | null]>();

  constructor(policy: CompiledPolicy, situation: Situation) {
    this.policy = policy;
    this.situation = situation;
  }

  ways(condition: Condition, want: boolean): readonly ChangeSet[] {
    const found = this.known.get(condition) ?? [null, null];
    this.known.set(condition, found);
    const place = want ? 1 : 0;
    const ways = found[place] ?? this.find(condition, want);
    found[place] = ways;
    return ways;
  }

  private find(condition: Condition, want: boolean): readonly ChangeSet[] {
    switch (condition.kind) {
      case "leaf":
        return this.leaf(condition.program, condition.clues, want);
      case "not":
        return this.ways(condition.of, !want);
      case "all":
      case "any":
        return (condition.kind === "all") === want
          ? together(condition.of.map((part) => this.ways(part, want)))
          : smallestFirst(condition.of.flatMap((part) => this.ways(part, want)));
      case "if":
        return smallestFirst([
          ...together([this.ways(condition.test, true), this.ways(condition.yes, want)]),
          ...together([this.ways(condition.test, false), this.ways(condition.no, want)]),
        ]);
      default:
        return condition satisfies never;
    }
  }

  private leaf(program: Program, clues: readonly Clue[], want: boolean): readonly ChangeSet[] {
    if (this.holds(program, [], want)) return [[]];
    return smallestFirst(
      clues.flatMap((clue) => {
        const place = clue.kind === "counted" ? this.counted(clue) : clue.place;
        if (place === null || this.situation.isBarred(place)) return [];
        const rank = this.situation.rank(place);
        const fitting: ChangeSet[] = [];
        for (const change of this.candidates(clue, place, want)) {
          if (change.op !== "absent" && !isPossible(place, change.value, this.situation.now_us)) continue;
          const set = [placedChange(place, change, rank)];
          if (this.holds(program, set, want) && this.isBound(program, set, want, clue)) fitting.push(set);
          // The first fitting one is the nearest.
          if (fitting.length > 0 && nearestFirst.has(clue.kind)) break;
        }
        return fitting;
      }),
    );
  }

  private holds(program: Program, changes: ChangeSet, want: boolean): boolean {
    const bindings = this.situation.bindings(this.policy, changes);
    return bindings !== null && this.value(program, bindings) === want;
  }

  /** True if the condition also holds beyond this value. Counters may refuse amounts below 0. */
  private isBound(program: Program, [only]: ChangeSet, want: boolean, { kind }: Clue): boolean {
    if (only === undefined || typeof only.change.value !== "number") return true;
    const { op, value } = only.change;
    if (op !== "at_most" && op !== "at_least") return true;
    const beyond = op === "at_most" ? value - far : value + far;
    const change = { ...only.change, value: kind === "counted" ? 0 : beyond };
    const further = placedChange(only.place, change, only.rank);
    return this.holds(program, [further], want);
  }

  private value(program: Program, bindings: Bindings): unknown {
    return resultOf(this.policy, program, bindings, this.situation.options);
  }

  private candidates(clue: Clue, place: ChangePlace, want: boolean): readonly ApprovalChange[] {
    const { path } = place;
    const equals = (value: unknown): ApprovalChange => ({ path, op: "equals", value });
    const present = (value: unknown): ApprovalChange => ({ path, op: "present", value });
    switch (clue.kind) {
      case "truth":
        return [equals(want)];
      case "presence":
        if (want) return presenceSamples(place).map(present);
        return clue.place.kind === "param" ? [{ path, op: "absent" }] : [];
      case "argument":
        return argumentSamples(clue.of, this.situation.now_us).map(present);
      case "bound":
        return this.bounds(this.other(clue.other))
          .map((value) => ({ path, op: clue.side, value }))
          .filter(({ op, value }) => isTowards(this.usable(place), op, value));
      case "counted":
        return this.bounds(this.left(clue))
          .filter((value) => value > 0 && isTowards(this.usable(place), "at_most", value))
          .map((value) => ({ path, op: "at_most", value }));
      case "equal": {
        const other = this.other(clue.other);
        return typeof other === "boolean"
          ? [equals(other), equals(!other)]
          : other === undefined
            ? []
            : [equals(other)];
      }
      case "one_of": {
        // No listed value is outside the list. Trying them took 25 % of the time of answers to blocks.
        if (!want) return [];
        const list = this.other(clue.other);
        return Array.isArray(list) ? list.slice(0, values_max).map(equals) : [];
      }
      case "member": {
        const member = this.other(clue.other);
        const list = this.situation.current(place) ?? [];
        if (member === undefined || !Array.isArray(list)) return [];
        const isSame = (other: unknown): boolean => canonicalJson(other) === canonicalJson(member);
        return [equals(want ? [...(list as unknown[]), member] : list.filter((other) => !isSame(other)))];
      }
      default:
        return clue satisfies never;
    }
  }

  /** Returns the parameter that the counter sums. */
  private counted({ name, field }: CountedClue): ChangePlace | null {
    const place = field === "n" ? null : (this.situation.counted(this.policy, name)?.place ?? null);
    return place !== null && typeof this.situation.current(place) === "number" ? place : null;
  }

  /** Returns the amount that the earlier actions leave of the limit. */
  private left({ name, limit }: CountedClue): number | undefined {
    const earlier = this.situation.counted(this.policy, name)?.micros ?? null;
    const most = microsOf(this.other(limit));
    return earlier === null || most === null ? undefined : amountOf(most - earlier);
  }

  private usable(place: ChangePlace): unknown {
    return this.situation.rank(place) === 0 ? undefined : this.situation.current(place);
  }

  /** Without redacted values. */
  private other(program: Program): unknown {
    return this.value(program, this.situation.shown(this.policy));
  }

  /** The bound and its neighbors: 1 apart for integers, else 0.01. */
  private bounds(bound: unknown): readonly number[] {
    if (typeof bound !== "number") return [];
    const step = Number.isInteger(bound) ? 1 : 0.01;
    return [bound, hundredths(bound - step), hundredths(bound + step)];
  }
}

/** Returns the JSON value of a program of a policy; undefined: none. */
export function resultOf(
  policy: CompiledPolicy,
  program: Program,
  bindings: Bindings,
  options: EvaluateOptions,
): unknown {
  bindVariables(policy, bindings);
  const result = program.evaluate(bindings, options);
  return result.kind === "value" ? jsonValue(result.value) : undefined;
}

/** Keeps numbers that are too large. */
function hundredths(value: number): number {
  const rounded = Math.round(value * 100) / 100;
  return Number.isFinite(rounded) ? rounded : value;
}

/** True if the bound is in its direction from the current value, or if that is not a number. */
function isTowards(current: unknown, op: ApprovalChange["op"], value: number): boolean {
  if (typeof current !== "number") return true;
  return op === "at_most" ? value < current : value > current;
}

/** Returns unions of one set from each list. */
export function together(parts: readonly (readonly ChangeSet[])[]): readonly ChangeSet[] {
  let sets: readonly ChangeSet[] = [[]];
  for (const ways of parts) {
    sets = smallestFirst(sets.flatMap((set) => ways.flatMap((way) => merged(set, way)))).slice(0, alternatives_max);
    if (sets.length === 0) break;
  }
  return sets;
}

/** Fewer changes first, then lower rank, then text. */
export function smallestFirst(sets: readonly ChangeSet[]): readonly ChangeSet[] {
  if (sets.length < 2) return sets;
  const byText = new Map(sets.map((set) => [textOf(set), set]));
  const rank = (set: ChangeSet): number => set.reduce((sum, change) => sum + change.rank, 0);
  return [...byText]
    .sort(([a, left], [b, right]) => left.length - right.length || rank(left) - rank(right) || (a < b ? -1 : 1))
    .map(([, set]) => set);
}

/** Returns the union. Empty if the sets contradict or have too many changes. */
function merged(a: ChangeSet, b: ChangeSet): ChangeSet[] {
  const byPath = new Map(a.map((change) => [change.place.path, change]));
  for (const change of b) {
    const { path } = change.place;
    const both = stricterOf(byPath.get(path), change);
    if (both === null) return [];
    byPath.set(path, both);
  }
  if (byPath.size > changes_max) return [];
  return [[...byPath.values()].sort((x, y) => (x.place.path < y.place.path ? -1 : 1))];
}

function stricterOf(a: PlacedChange | undefined, b: PlacedChange): PlacedChange | null {
  if (a === undefined) return b;
  if (a.text === b.text) return b;
  const [left, right] = [a.change, b.change];
  if (left.op !== right.op || typeof left.value !== "number" || typeof right.value !== "number") return null;
  if (left.op === "at_most") return left.value < right.value ? a : b;
  return left.op === "at_least" ? (left.value > right.value ? a : b) : null;
}
