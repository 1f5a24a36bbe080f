/**
 * Stale: something changed between a read and the lock of the organization's head. The transaction throws `Stale`,
 * which rolls it back, and the operation runs again: for callers by `untilFresh`, for workers by `unlessStale`.
 */

import { Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { Head, StateEpochs } from "../../store/organizations/heads.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "./caller.ts";
import type { OrgState } from "./node-services.ts";

export class Stale extends Error {}

export const attempts_max = 6;

export const stale: unique symbol = Symbol("stale");

/** Returns what `work` returns, or `stale` if it threw `Stale`. Rethrows everything else. */
export async function unlessStale<T>(work: Promise<T>): Promise<T | typeof stale> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Stale) return stale;
    throw error;
  }
}

export function staleEachTime(): Fault {
  return new Fault("unavailable", { internal: "stale in every attempt" });
}

/**
 * Runs `run`. While it is stale, reloads the caller and repeats. Faults: unavailable, the 401 faults, and those of
 * `run`.
 */
export async function untilFresh<T>(
  { callers }: Pick<Runtime, "callers">,
  caller: Caller,
  run: (current: Caller) => Promise<T>,
): Promise<T> {
  let current = caller;
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const answer = await unlessStale(run(current));
    if (answer !== stale) return answer;
    current = await callers.reload(current);
  }
  throw staleEachTime();
}

export interface Attempt {
  readonly query: Query;
  readonly caller: Caller;
  readonly state: OrgState;
}

export function demandCurrentKey(head: Head, caller: Pick<Caller, "auth_epoch">): void {
  if (head.auth_epoch !== caller.auth_epoch) throw new Stale("keys");
}

/**
 * Throws `Stale` if policies or membranes changed since `state` was read. A raised epoch is not enough, because each
 * override raises it.
 */
export async function demandRulesInForce(
  runtime: Pick<Runtime, "orgStates">,
  query: Query,
  org_id: string,
  now: StateEpochs,
  state: OrgState,
): Promise<void> {
  if (now.policy_epoch === state.policy_epoch && now.context_epoch === state.context_epoch) return;
  runtime.orgStates.forget(org_id, state);
  if (!(await state.isInForce(query))) throw new Stale("policies");
}
