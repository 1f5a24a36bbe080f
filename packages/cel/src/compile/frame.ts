import type { CallContext } from "../library.ts";
import { Timestamp, timestampFromMilliseconds } from "../value/timestamp.ts";
import type { Value } from "../value/value.ts";
import type { Prefixes } from "./prefixes.ts";

/** The instant of an evaluation. A number is milliseconds since 1970. */
export type Now = Timestamp | Date | number;

const NO_LOCALS: Value[] = [];

/** A JSON object whose fields may be read directly. */
export type Plain = { readonly [key: string]: Value };

/** The state of an evaluation of one expression, or of all expressions of a decision over the same bindings. */
export class Frame implements CallContext {
  /** Units of budget left. Below zero, the evaluation stops. */
  left: number;
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Variables of comprehensions and binds, by slot. */
  locals: Value[];
  /** The current position of the comprehension that owns a slot. Used only to name missing facts. */
  positions: Value[];
  /**
   * The objects at the beginnings of paths, by slot of `table`; null for a single evaluation, which gains nothing from
   * them.
   */
  readonly prefixes: (Plain | undefined)[] | null;
  /** Paths with a known type in this evaluation, such as `params.amount`, spelled as in reasons. Null: none. */
  readonly declared: ReadonlySet<string> | null;
  /** The table that defines the slots of `prefixes`. */
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
