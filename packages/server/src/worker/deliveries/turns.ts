import type { Log } from "../../ports.ts";

export interface Turns {
  /** Unless it already waits. */
  add(org_id: string): void;
  waiting(): number;
  /** Begins no more turns. */
  stop(): Promise<void>;
}

/**
 * Gives waiting organizations a turn, in the order of arrival. At most `lanes` turns run at once, never two of one
 * organization. If `take` resolves to true, the organization waits again. Failures are not retried, because a look
 * finds the organization again.
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
      log.error({ err: error, org_id }, "a turn of an organization's deliveries failed");
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
