import type { Caller } from "../../operations/shared/caller.ts";
import type { RateLimits } from "../answer/rate-limit.ts";

export interface Known {
  readonly caller: Caller;
  readonly limits: RateLimits;
  /** Reads the caller from the database. */
  readonly again: () => Promise<Known>;
}

const ofCaller = new WeakMap<Caller, Known>();

export function remember(known: Known): Known {
  ofCaller.set(known.caller, known);
  return known;
}

/** See `Callers`. */
export async function reload(caller: Caller): Promise<Caller> {
  const known = ofCaller.get(caller);
  if (known === undefined) throw new Error("this caller did not come through the gate");
  return (await known.again()).caller;
}
