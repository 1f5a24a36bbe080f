import type { CallContext } from "../library.ts";
import { Timestamp, timestampFromMilliseconds } from "../value/timestamp.ts";
import type { Value } from "../value/value.ts";
import type { Prefixes } from "./prefixes.ts";

/** Numbers are milliseconds since 1970. */
export type Now = Timestamp | Date | number;

const NO_LOCALS: Value[] = [];

export type Plain = { readonly [key: string]: Value };

/** State of one evaluation, or of all evaluations of a decision over the same bindings. */
export class Frame implements CallContext {
  /** Budget in units. Below zero, the evaluation stops. */
  left: number;
  readonly bindings: Readonly<Record<string, unknown>>;
  /** By slot. */
  locals: Value[];
  /** By slot, the position of its comprehension. Used only to name missing facts. */
  positions: Value[];
  /** By slot of `table`, the objects at the beginnings of paths. Null for a single evaluation. */
  readonly prefixes: (Plain | undefined)[] | null;
  /** Paths with a known type in this evaluation, such as `params.amount`. */
  readonly declared: ReadonlySet<string> | null;
  readonly table: Prefixes;
  private instant: Now | null;

  constructor(
    bindings: Readonly<Record<string, unknown>>,
    now: Now | null,
    left: number,
    table: Prefixes,
    several: boolean,
    declared: ReadonlySet<string> | null = null,
  ) {
    this.left = left;
    this.bindings = bindings;
    this.locals = NO_LOCALS;
    this.positions = NO_LOCALS;
    this.prefixes = several ? new Array<Plain | undefined>(table.size) : null;
    this.table = table;
    this.declared = declared;
    this.instant = now;
  }

  get now(): Timestamp | null {
    const given = this.instant;
    if (given === null || given instanceof Timestamp) return given;
    const found = timestampFromMilliseconds(typeof given === "number" ? given : given.getTime());
    this.instant = found;
    return found;
  }

  charge(units: number): void {
    this.left -= units;
  }
}
