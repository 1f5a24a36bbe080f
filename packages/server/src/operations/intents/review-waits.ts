/**
 * Stores which reviews are awaited, so that an equal action on any node knows whether to join one. One statement per
 * organization at a time; the next one writes all changes since.
 */
import type { Db, Log } from "../../ports.ts";
import { forgetWaits, noteWaits } from "../../store/escalations/approvals.ts";
import type { ReviewWaits } from "../shared/node-services.ts";

/** Time for a client to ask again after its wait ended. */
const grace_seconds = 5;

interface Waited {
  requests: number;
  /** Longest wait that is not stored yet; 0: none. */
  seconds: number;
  /** True: the last client disconnected, so nobody asks again. */
  left: boolean;
}

interface Organization {
  readonly waited: Map<string, Waited>;
  writing: boolean;
}

export function createReviewWaits(db: Pick<Db, "tenant">, node: string, log: Pick<Log, "warn">): ReviewWaits {
  const organizations = new Map<string, Organization>();

  async function write(org_id: string, organization: Organization): Promise<void> {
    const { waited } = organization;
    organization.writing = true;
    for (;;) {
      const begun = [...waited].flatMap(([escalation_id, { seconds }]) =>
        seconds > 0 ? [{ escalation_id, seconds }] : [],
      );
      const left = [...waited].flatMap(([escalation_id, each]) => (each.left ? [escalation_id] : []));
      for (const [escalation_id, each] of waited) {
        each.seconds = 0;
        each.left = false;
        if (each.requests === 0) waited.delete(escalation_id);
      }
      if (begun.length + left.length === 0) break;
      try {
        await db.tenant(org_id, async (query) => {
          if (left.length > 0) await forgetWaits(query, org_id, node, left);
          if (begun.length > 0) await noteWaits(query, org_id, node, begun);
        });
      } catch (error) {
        // An equal action may then join an awaited review. Both still rest on one approval.
        log.warn({ err: error, org_id }, "could not note who waits for a review");
      }
    }
    organization.writing = false;
    if (waited.size === 0) organizations.delete(org_id);
  }

  function changed(org_id: string, organization: Organization): void {
    if (!organization.writing) void write(org_id, organization);
  }

  return {
    begin(org_id, escalation_id, seconds) {
      const organization = organizations.get(org_id) ?? { waited: new Map<string, Waited>(), writing: false };
      organizations.set(org_id, organization);
      const each = organization.waited.get(escalation_id) ?? { requests: 0, seconds: 0, left: false };
      organization.waited.set(escalation_id, each);
      each.requests += 1;
      each.seconds = Math.max(each.seconds, seconds + grace_seconds);
      each.left = false;
      changed(org_id, organization);
      return (is_gone) => {
        each.requests -= 1;
        if (each.requests > 0) return;
        if (is_gone) {
          each.left = true;
          each.seconds = 0;
        }
        changed(org_id, organization);
      };
    },
  };
}
