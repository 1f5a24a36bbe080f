import { limits, type Retention, type RetentionAnswer } from "@countersign/contract";
import { auditRow } from "../../store/audit/audit.ts";
import { countDue, readRetention, writeRetention } from "../../store/erasure/retention.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

/** Returns how long records keep their content, and what is due. */
export async function getRetention(
  runtime: Pick<Runtime, "db" | "clock">,
  { org_id }: Pick<Caller, "org_id">,
): Promise<RetentionAnswer> {
  const retention = await runtime.db.tenant(org_id, (query) => readRetention(query, org_id));
  return withDue(runtime, org_id, retention);
}

/** Sets how long records keep their content. A dry run only counts what these days would remove. Faults: unavailable. */
export async function putRetention(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "callers">,
  caller: Caller,
  retention: Retention,
  dry_run: boolean,
): Promise<RetentionAnswer> {
  const { org_id, actor } = caller;
  if (!dry_run)
    await untilFresh(runtime, caller, (current) =>
      runtime.db.tenant(org_id, async (query) => {
        const head = await lockHead(query, org_id);
        demandCurrentKey(head, current);
        await writeRetention(query, org_id, retention);
        const at = await databaseNow(query);
        const entry = { intent_id: null, at, actor, type: "retention_changed", data: { ...retention } } as const;
        await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
      }),
    );
  return withDue(runtime, org_id, retention);
}

async function withDue(
  { db, clock }: Pick<Runtime, "db" | "clock">,
  org_id: string,
  retention: Retention,
): Promise<RetentionAnswer> {
  const terms = { now_ms: Math.floor(clock.now_us() / 1000), max: limits.retention_counted_max };
  return { retention, due: await db.tenant(org_id, (query) => countDue(query, org_id, retention, terms)) };
}
