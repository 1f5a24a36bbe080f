/** Callers as the gate knows them, from keys and from sessions alike. */
import type { Caller } from "../../operations/shared/caller.ts";
import type { RateLimits } from "../answer/rate-limit.ts";

/** A caller with what the gate needs beside: its budget, and the way to look at it again. */
export interface Known {
  readonly caller: Caller;
  readonly limits: RateLimits;
  /** The caller as of now, read from the database. */
  readonly again: () => Promise<Known>;
}

const ofCaller = new WeakMap<Caller, Known>();

/** Notes where a caller came from. */
export function remember(known: Known): Known {
  ofCaller.set(known.caller, known);
  return known;
}

/** See `Callers`: the commit of a decision found another epoch, or a refusal is about to be answered from memory. */
export async function reload(caller: Caller): Promise<Caller> {
  const known = ofCaller.get(caller);
  if (known === undefined) throw new Error("this caller did not come through the gate");
  return (await known.again()).caller;
}
