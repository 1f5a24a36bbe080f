/** Removes content that is older than its organization keeps it. See decision 0065. */

import { eraseDeliveries } from "../../store/erasure/erase-attached.ts";
import {
  deleteOldFacts,
  eraseOldFailed,
  listRetention,
  type RetentionRow,
  readOldDecisions,
  writeContentTo,
} from "../../store/erasure/retention.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import type { Runtime } from "../runtime.ts";
import { eraseIntents } from "./erase-page.ts";
import { erasurePages } from "./run-erasure.ts";

type Keeping = Pick<Runtime, "db" | "clock" | "ids" | "log" | "deliveries">;

const organizations_max = 100;
/** Pages of one organization in a pass. The next pass continues. */
const pages_max = 200;

/** Makes one pass over all organizations with a retention. A failing one does not block others. */
export async function keepRetention(runtime: Keeping, stopped: () => boolean): Promise<void> {
  for (let after = ""; !stopped(); ) {
    const from = after;
    const rows = await runtime.db.system((query) => listRetention(query, from, organizations_max));
    for (const row of rows) {
      after = row.org_id;
      try {
        await keepOne(runtime, row, stopped);
      } catch (error) {
        runtime.log.error({ err: error, org_id: row.org_id }, "could not remove old content");
      }
    }
    if (rows.length < organizations_max) return;
  }
}

async function keepOne(runtime: Keeping, row: RetentionRow, stopped: () => boolean): Promise<void> {
  const { org_id, content_days, failed_deliveries_days, facts_days } = row;
  const now_ms = Math.floor(runtime.clock.now_us() / 1000);
  if (content_days !== null) await eraseOldContent(runtime, row, { kept_days: content_days, now_ms }, stopped);
  const rows = erasurePages.read;
  if (failed_deliveries_days !== null)
    await pages(stopped, rows, () =>
      runtime.db.tenant(org_id, (query) =>
        eraseOldFailed(query, org_id, { kept_days: failed_deliveries_days, now_ms, rows }),
      ),
    );
  if (facts_days !== null)
    await pages(stopped, rows, () =>
      runtime.db.tenant(org_id, async (query) => {
        const head = await lockHead(query, org_id);
        const deleted = await deleteOldFacts(query, org_id, facts_days, rows);
        if (deleted > 0) await changeHead(query, head, { raise: ["context"], audit: [] });
        return deleted;
      }),
    );
}

async function pages(stopped: () => boolean, rows: number, removePage: () => Promise<number>): Promise<void> {
  for (let page = 0; page < pages_max && !stopped(); page += 1) if ((await removePage()) < rows) return;
}

async function eraseOldContent(
  runtime: Keeping,
  { org_id, content_to }: RetentionRow,
  terms: { readonly kept_days: number; readonly now_ms: number },
  stopped: () => boolean,
): Promise<void> {
  const eraser = { by: "retention", erasure_id: null };
  let erased = 0;
  let after = content_to;
  for (let page = 0; page < pages_max && !stopped(); page += 1) {
    const range = { ...terms, after, rows: erasurePages.erased };
    const last = await runtime.db.tenant(org_id, async (query) => {
      const found = await readOldDecisions(query, org_id, range);
      if (found.intent_ids.length > 0)
        erased += (await eraseIntents(runtime, query, org_id, found.intent_ids, eraser)).intents;
      if (found.last !== null) await writeContentTo(query, org_id, found.last);
      return found.last;
    });
    if (last === null) break;
    after = last;
  }
  if (erased > 0) await eraseBodies(runtime, org_id, stopped);
}

async function eraseBodies(runtime: Keeping, org_id: string, stopped: () => boolean): Promise<void> {
  for (let after: string | null = ""; after !== null && !stopped(); ) {
    const from: string = after;
    after = (await runtime.db.tenant(org_id, (query) => eraseDeliveries(query, org_id, from, erasurePages.read))).last;
  }
}
