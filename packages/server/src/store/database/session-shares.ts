/**
 * Limits how many sessions of a pool one organization may use. Without a limit, twenty slow list requests of one
 * organization used all sessions, and requests of others got 503.
 */

export interface SessionShares {
  /** Runs `work` as soon as the organization has a free session. Waiting callers run in order of arrival. */
  within<T>(org_id: string, work: () => Promise<T>): Promise<T>;
  waiting(): number;
}

interface Organization {
  held: number;
  readonly waiting: Set<() => void>;
}

/** `within` throws a timeout error, as a full pool does, if a caller waits longer than `wait_ms_max`. */
export function createSessionShares(share: number, wait_ms_max: number): SessionShares {
  const organizations = new Map<string, Organization>();

  function enter(org_id: string): Promise<void> {
    const organization = organizations.get(org_id) ?? { held: 0, waiting: new Set() };
    organizations.set(org_id, organization);
    if (organization.held < share) {
      organization.held += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const deadline = AbortSignal.timeout(wait_ms_max);
      const giveUp = () => {
        organization.waiting.delete(go);
        reject(new Error("timeout exceeded when waiting for a session of this organization"));
      };
      const go = () => {
        deadline.removeEventListener("abort", giveUp);
        organization.waiting.delete(go);
        resolve();
      };
      deadline.addEventListener("abort", giveUp);
      organization.waiting.add(go);
    });
  }

  function leave(org_id: string): void {
    const organization = organizations.get(org_id) as Organization;
    const [next] = organization.waiting;
    if (next === undefined) organization.held -= 1;
    else next();
    if (organization.held === 0) organizations.delete(org_id);
  }

  return {
    async within(org_id, work) {
      await enter(org_id);
      try {
        return await work();
      } finally {
        leave(org_id);
      }
    },
    waiting: () => [...organizations.values()].reduce((sum, { waiting }) => sum + waiting.size, 0),
  };
}
