import { type Decided, type DecideInput, decide, Fault, type PolicySet } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { pullContext } from "../context/pull-context.ts";
import { CountsNow } from "../counters/counts-now.ts";
import { type AskedSubmission, bindingRefusal, demandAbleTo } from "../intents/admit-submission.ts";
import { decideInput, isReturned, membraneOf } from "../intents/decide-input.ts";
import { gatherFacts } from "../intents/gather-facts.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import type { OrgState } from "../shared/node-services.ts";
import { attempts_max, staleEachTime } from "../shared/stale.ts";
import { tokenOutcome } from "../tokens/present-token.ts";

type DecidingNow = Pick<Runtime, "db" | "clock" | "clockWatch" | "orgStates" | "pulls">;

export interface OwnRecords {
  /** The intents that are earlier records of this action. Their entries in counters do not count. */
  readonly own: readonly string[];
}

export interface Ruled<T extends OwnRecords> {
  readonly decided: Decided;
  readonly mode: "live" | "shadow" | "test";
  readonly read: T;
}

/**
 * Decides an action by the current rules, facts and counters, and writes nothing. No override, grant or review counts.
 * `read` runs in the transaction that reads the counters. Faults: those of deciding an intent, without its commit.
 */
export async function decideNow<T extends OwnRecords>(
  runtime: DecidingNow,
  caller: Caller,
  asked: AskedSubmission,
  read: (query: Query) => Promise<T>,
): Promise<Ruled<T>> {
  demandAbleTo(runtime, caller, asked);
  const { orgStates } = runtime;
  const pull = pullContext(runtime, caller.org_id, asked.submission);
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const state = await orgStates.get(caller.org_id);
    try {
      const ruled = await decideUnder(runtime, caller, state, { ...asked, pull, read });
      // No commit detects a state that is outdated.
      if (ruled !== null && !(await orgStates.isOutdated(caller.org_id, state))) return ruled;
    } catch (error) {
      if (!(error instanceof Fault) || !(await orgStates.isOutdated(caller.org_id, state))) throw error;
    }
  }
  throw staleEachTime();
}

interface Reading<T extends OwnRecords> extends AskedSubmission {
  readonly pull: ReturnType<typeof pullContext>;
  readonly read: (query: Query) => Promise<T>;
}

/** Null: something changed meanwhile. */
async function decideUnder<T extends OwnRecords>(
  runtime: DecidingNow,
  caller: Caller,
  state: OrgState,
  { pull, read, ...asked }: Reading<T>,
): Promise<Ruled<T> | null> {
  const { submission, mode: asked_mode } = asked;
  const unbound = bindingRefusal(caller, state, asked);
  if (unbound !== null) throw unbound;
  const pulled = state.source === null ? null : await pull(state);
  if (pulled === "replaced") {
    runtime.orgStates.forget(caller.org_id, state);
    return null;
  }
  const deciding = membraneOf(state, submission.membrane_id);
  const token = await tokenOutcome(null, state, deciding.membrane, runtime.clock.now_us());
  if (token.refusal !== null) throw token.refusal;
  const sources = { caller, state, submission, asked_mode, pulled, token: token.facts };
  const input = decideInput(sources, deciding, await gatherFacts(runtime, sources));
  return runtime.db.tenant(caller.org_id, async (query) => {
    const found = await read(query);
    const decideAs = ({ mode, now_us }: DecideInput): Promise<Decided> => {
      const now = new CountsNow({ org_id: caller.org_id, mode, own: found.own, now_us });
      return now.settle(query, () => decide({ ...input, mode, counts: now }));
    };
    const first = await decideAs(input);
    const mode = isReturned(caller, deciding, input, first) ? "shadow" : input.mode;
    const decided = mode === input.mode ? first : await decideAs({ ...input, mode });
    if (!counts(deciding.policySet)) return { decided, mode, read: found };
    // A record that was committed after the first read is in the counters, as if it were another action.
    const again = await read(query);
    return again.own.join() === found.own.join() ? { decided, mode, read: found } : null;
  });
}

function counts({ tracks }: PolicySet): boolean {
  return tracks.byName.size > 0;
}
