/** Organizations that a statement equates have one root. */
export class Org {
  #parent: Org | null = null;
  readonly what: string;
  readonly is_parameter: boolean;

  constructor(what: string, is_parameter = false) {
    this.what = what;
    this.is_parameter = is_parameter;
  }

  root(): Org {
    return this.#parent === null ? this : this.#parent.root();
  }

  /** A parameter stays the root. */
  isSameAs(other: Org): void {
    const [one, two] = [this.root(), other.root()];
    if (one === two) return;
    if (one.is_parameter) two.#parent = one;
    else one.#parent = two;
  }
}

/** Null: rows without an organization. */
export class Scope {
  readonly rows = new Map<string, Org | null>();
  readonly ctes = new Map<string, Org | null>();
  readonly #outer: Scope | null;

  constructor(outer: Scope | null) {
    this.#outer = outer;
  }

  /** Undefined: there is no such common table expression. */
  cte(name: string): Org | null | undefined {
    const own = this.ctes.get(name);
    return own === undefined ? this.#outer?.cte(name) : own;
  }

  /** Null: none or several. */
  organization(rows: string | null): Org | null {
    const own = rows === null ? [...this.rows.values()] : [this.rows.get(rows) ?? null];
    const found = own.filter((org) => org !== null);
    if (found.length === 1) return found[0] as Org;
    return found.length > 1 ? null : (this.#outer?.organization(rows) ?? null);
  }
}
