import type { Log } from "../../ports.ts";

/** Work that runs one at a time. */
export interface OneAtATime {
  /** Starts the work. If the work runs already, it runs once more afterwards. */
  run(): void;
  /** Resolves when the work has ended. */
  ended(): Promise<void>;
}

/** Runs `work` one at a time. Logs failures and does not retry, because the caller has a timer. */
export function oneAtATime(log: Log, work: () => Promise<void>): OneAtATime {
  let wanted = false;
  let running: Promise<void> | null = null;
  async function runAll(): Promise<void> {
    while (wanted) {
      wanted = false;
      await work().catch((error: unknown) => log.error({ err: error }, "looking for deliveries failed"));
    }
    running = null;
  }
  return {
    run() {
      wanted = true;
      running ??= runAll();
    },
    ended: async () => void (await running),
  };
}
