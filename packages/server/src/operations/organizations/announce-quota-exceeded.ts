import { formatTimestampUs } from "@countersign/core";
import { withHead } from "../../store/organizations/heads.ts";
import { readUsage } from "../../store/organizations/usage.ts";
import type { Runtime } from "../runtime.ts";
import { eventRow } from "../shared/event-row.ts";

/**
 * Writes the event `quota.exceeded` once per period, and again after a raised limit is reached. Runs under the head's
 * lock, so that exactly one of all refused submissions writes it. `batch_size`: intents in the refused submission.
 * Source: spec §2.7.
 */
export async function announceQuotaExceeded(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  org_id: string,
  batch_size: number,
): Promise<void> {
  const at_us = runtime.clock.now_us();
  const timestamp = formatTimestampUs(at_us);
  await runtime.db.tenant(org_id, (query) =>
    withHead(query, org_id, async (head) => {
      if (head.usage_met_by !== null || head.hard_limit === null || head.usage_used < head.hard_limit) return null;
      const usage = await readUsage(query, org_id, head.usage_period);
      const event = eventRow(runtime.ids, {
        event_type: "quota.exceeded",
        organization_id: org_id,
        at_us,
        data: {
          plan_id: usage?.plan_id ?? null,
          included_actions: usage?.included_actions ?? head.hard_limit,
          used_actions: head.usage_used,
          hard_limit: head.hard_limit,
          batch_size,
          timestamp,
        },
      });
      return { audit: [], usage_met_by: batch_size, events: [event] };
    }),
  );
  runtime.deliveries.wake(org_id);
}
