import type { Log } from "../../ports.ts";

export interface Turns {
  /** Adds the organization to the queue, unless it already waits. */
  add(org_id: string): void;
  waiting(): number;
  /** Begins no more turns, and resolves when the running turns have ended. */
  stop(): Promise<void>;
}

/**
 * Calls `take` for waiting organizations, in the order in which they were added. At most `lanes` calls run at the same
 * time, and never two for one organization. If `take` resolves to true, the organization goes to the end of the queue.
 * A failed call is logged and not retried, because the next periodic search for work (looks.ts) adds the organization
 * again.
 */
export function inTurns(log: Log, lanes: number, take: (org_id: string) => Promise<boolean>): Turns {
  const queue = new Set<string>();
  const running = new Map<string, Promise<void>>();
  let stopped = false;

  function begin(): void {
    for (const org_id of queue) {
      if (running.size >= lanes) return;
      if (running.has(org_id)) continue;
      queue.delete(org_id);
      running.set(org_id, turn(org_id));
    }
  }

  async function turn(org_id: string): Promise<void> {
    try {
      if (await take(org_id)) add(org_id);
    } catch (error) {
      log.error({ err: error, org_id }, "cannot process the deliveries of an organization");
    }
    running.delete(org_id);
    begin();
  }

  function add(org_id: string): void {
    if (stopped) return;
    queue.add(org_id);
    begin();
  }

  return {
    add,
    waiting: () => queue.size,
    async stop() {
      stopped = true;
      queue.clear();
      await Promise.all(running.values());
    },
  };
}
