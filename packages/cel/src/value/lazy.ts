import { Failure, type Unknown, unknown } from "./unknown.ts";

/** Computes one field of a lazy object, at most once per object; `C` is the context of the evaluation that asked first. */
export type Thunk<C> = (context: C) => unknown;

/**
 * A binding whose fields are computed when an expression first asks for them, and remembered: `vars` of a policy.
 *
 * Make one per decision over a shared table of thunks: it costs one small object. A thunk may return an `Unknown`. A field
 * that needs itself fails instead of recursing for ever.
 */
export class LazyObject<C = unknown> {
  private readonly thunks: ReadonlyMap<string, Thunk<C>>;
  private known: Map<string, unknown> | null = null;

  constructor(thunks: ReadonlyMap<string, Thunk<C>>) {
    this.thunks = thunks;
  }

  /** Whether the field is declared; does not compute it. */
  has(name: string): boolean {
    return this.thunks.has(name);
  }

  names(): string[] {
    return [...this.thunks.keys()];
  }

  /** The field's value, computed now or earlier. */
  get(name: string, path: string, context: C): unknown {
    if (this.known === null) this.known = new Map();
    else if (this.known.has(name)) return this.known.get(name);
    const thunk = this.thunks.get(name);
    if (thunk === undefined) return unknown(path, "missing") satisfies Unknown;
    this.known.set(name, new Failure(`\`${path}\` is defined by itself`));
    const value = thunk(context);
    this.known.set(name, value);
    return value;
  }
}

/** A lazy object over thunks; see `LazyObject`. */
export function lazy<C>(thunks: ReadonlyMap<string, Thunk<C>>): LazyObject<C> {
  return new LazyObject(thunks);
}
