/** More prefixes than these are read step by step: the table must not grow with the number of expressions compiled. */
const prefixes_max = 256;

/**
 * The beginnings of paths that an environment's programs read (`facts`, `facts.organizational`), each with a slot.
 *
 * Programs that share an evaluation look each one up in the bindings once. Reading a field is then one property access on
 * a known object, which is most of what a condition costs: 67 ns a condition in bench/cel, 95 ns when every program finds
 * its own way.
 */
export class Prefixes {
  private readonly slots = new Map<string, number>();
  private readonly base: Prefixes | null;
  /** So many slots are those of `base`: all that it had when this table was made. */
  private readonly inherited: number;

  /** `base` does not come to know of what is added here. */
  constructor(base: Prefixes | null = null) {
    this.base = base;
    this.inherited = base?.size ?? 0;
  }

  /** How many slots are in use. */
  get size(): number {
    return this.inherited + this.slots.size;
  }

  /** The slot of a prefix, or -1 when the table is full. */
  slot(root: string, keys: readonly string[]): number {
    const key = keys.length === 0 ? root : `${root}\0${keys.join("\0")}`;
    const found = this.find(key);
    if (found !== undefined) return found;
    if (this.size >= prefixes_max) return -1;
    this.slots.set(key, this.size);
    return this.size - 1;
  }

  /** Whether the first `reach` slots of `table` are this one's, too. */
  holds(table: Prefixes, reach: number): boolean {
    return table === this || (this.base !== null && reach <= this.inherited && this.base.holds(table, reach));
  }

  private find(key: string): number | undefined {
    const own = this.slots.get(key);
    if (own !== undefined) return own;
    const found = this.base?.find(key);
    return found !== undefined && found < this.inherited ? found : undefined;
  }
}
