import type { Caller } from "../../operations/shared/caller.ts";
import type { RateLimits } from "../answer/rate-limit.ts";

interface Remembered {
  readonly caller: Caller;
  /** Reads the caller from the database. */
  readonly again: () => Promise<Remembered>;
}

export interface Known extends Remembered {
  readonly limits: RateLimits;
  readonly again: () => Promise<Known>;
}

const ofCaller = new WeakMap<Caller, Remembered>();

export function remember<K extends Remembered>(known: K): K {
  ofCaller.set(known.caller, known);
  return known;
}

/** See `Callers`. */
export async function reload(caller: Caller): Promise<Caller> {
  const known = ofCaller.get(caller);
  if (known === undefined) throw new Error("this caller did not come through the gate");
  return (await known.again()).caller;
}
