import { Failure, type Unknown, unknown } from "./unknown.ts";

/** Runs at most once per object. `C` is the context of the first evaluation that reads the field. */
export type Thunk<C> = (context: C) => unknown;

/**
 * Computes fields on first use: `vars` of a policy. Create one for each decision over a shared table of thunks. A thunk
 * may return an `Unknown`. A circular field fails.
 */
export class LazyObject<C = unknown> {
  private readonly thunks: ReadonlyMap<string, Thunk<C>>;
  private known: Map<string, unknown> | null = null;

  constructor(thunks: ReadonlyMap<string, Thunk<C>>) {
    this.thunks = thunks;
  }

  has(name: string): boolean {
    return this.thunks.has(name);
  }

  names(): string[] {
    return [...this.thunks.keys()];
  }

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

export function lazy<C>(thunks: ReadonlyMap<string, Thunk<C>>): LazyObject<C> {
  return new LazyObject(thunks);
}
