/**
 * Holds requests until their decision is final. One query polls all awaited intents every `look_ms`, so a ruling on any
 * node releases its requests within that time. If a poll fails or hangs, the next one uses another session.
 */

import type { Db, Log, Timers } from "../../ports.ts";
import { readFinal } from "../../store/intents/intents.ts";
import type { DecisionWaits } from "../shared/node-services.ts";

const look_ms = 50;
const hung_ms = 1_000;

interface Waiter {
  readonly org_id: string;
  readonly intent_id: string;
  readonly release: () => void;
}

export function createDecisionWaits(db: Db, timers: Timers, log: Log): DecisionWaits {
  const waiters = new Set<Waiter>();
  let looking = false;
  let stopped = false;

  function scheduleLook(): void {
    if (looking || waiters.size === 0) return;
    looking = true;
    timers.after(look_ms, () => {
      let over = false;
      const next = (): void => {
        if (over) return;
        over = true;
        giveUp();
        looking = false;
        scheduleLook();
      };
      const giveUp = timers.after(hung_ms, next);
      look()
        .catch((error: unknown) => log.warn({ err: error }, "could not poll for rulings; will retry"))
        .finally(next);
    });
  }

  async function look(): Promise<void> {
    const waiting = [...waiters];
    const awaited = new Map(waiting.map((waiter) => [nameOf(waiter), waiter]));
    const rows = await db.system((query) => readFinal(query, [...awaited.values()]));
    const final = new Set(rows.map(nameOf));
    for (const waiter of waiting) if (final.has(nameOf(waiter))) waiter.release();
  }

  return {
    untilFinal(org_id, intent_id, wait_ms, gone) {
      if (stopped || gone?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const waiter: Waiter = {
          org_id,
          intent_id,
          release: () => {
            waiters.delete(waiter);
            cancel();
            gone?.removeEventListener("abort", waiter.release);
            resolve();
          },
        };
        const cancel = timers.after(wait_ms, waiter.release);
        gone?.addEventListener("abort", waiter.release);
        waiters.add(waiter);
        scheduleLook();
      });
    },
    stop() {
      stopped = true;
      for (const waiter of [...waiters]) waiter.release();
    },
  };
}

function nameOf({ org_id, intent_id }: { readonly org_id: string; readonly intent_id: string }): string {
  return `${org_id} ${intent_id}`;
}
