/**
 * Pauses in the pushing of facts. Each push outdates the organization's decisions under way, which are made again; a client that
 * pushes without a pause could go on outdating them. So where one was outdated several times, the next pushes of this node
 * wait until it is committed. Those of other nodes do not: a commit that fits between two of theirs is soon found.
 */

import type { Timers } from "../../ports.ts";
import type { ContextPauses } from "../shared/node-services.ts";

/** No push waits longer; decisions that take this long rest on something else. */
const pause_ms_max = 1_000;

interface Pause {
  decisions: number;
  readonly pushes: Set<() => void>;
}

/** Creates them, with none begun. */
export function createContextPauses(timers: Timers): ContextPauses {
  const pauses = new Map<string, Pause>();
  return {
    begin(org_id) {
      const pause = pauses.get(org_id) ?? { decisions: 0, pushes: new Set() };
      pauses.set(org_id, pause);
      pause.decisions += 1;
      return () => {
        pause.decisions -= 1;
        if (pause.decisions > 0) return;
        pauses.delete(org_id);
        for (const goOn of pause.pushes) goOn();
      };
    },
    over(org_id) {
      const pause = pauses.get(org_id);
      if (pause === undefined) return Promise.resolve();
      return new Promise((resolve) => {
        const goOn = () => {
          cancel();
          pause.pushes.delete(goOn);
          resolve();
        };
        const cancel = timers.after(pause_ms_max, goOn);
        pause.pushes.add(goOn);
      });
    },
  };
}
