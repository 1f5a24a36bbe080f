import { askWitness, type Witness, type Witnessing } from "../operations/log/ask-witnesses.ts";
import type { LogKeeper } from "../operations/shared/node-services.ts";
import type { Log, Timers } from "../ports.ts";
import { type Loop, startPasses } from "./passes.ts";

const witness_every_ms = 5_000;

/** With the time of a pass, a checkpoint covers each entry within 2 s. */
const pass_every_ms = 1_000;

export function startLog(runtime: { readonly timers: Timers; readonly log: Log }, keeper: LogKeeper): Loop {
  return startPasses(runtime, pass_every_ms, "looking for entries without a checkpoint failed", keeper.pass);
}

/** Each witness has a loop, so that a slow one does not delay others. */
export function startWitness(
  runtime: Witnessing & { readonly timers: Timers },
  witness: Witness,
  every_ms = witness_every_ms,
): Loop {
  return startPasses(runtime, every_ms, "asking a witness for cosignatures failed", (stopped) =>
    askWitness(runtime, witness, stopped),
  );
}
