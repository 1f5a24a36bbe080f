/**
 * Pauses fact pushes. Each push makes the organization's decisions under way stale. After a decision was stale several
 * times, this node's pushes wait for its commit. Pushes on other nodes do not.
 */

import type { Timers } from "../../ports.ts";
import type { ContextPauses } from "../shared/node-services.ts";

const pause_ms_max = 1_000;

interface Pause {
  decisions: number;
  readonly pushes: Set<() => void>;
}

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
