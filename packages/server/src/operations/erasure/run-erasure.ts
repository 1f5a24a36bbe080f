/** Continues erasures, page by page. A page is one transaction, so a node that stops loses none. */
import { foldName } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import {
  eraseAddresses,
  eraseAnswers,
  eraseBacktests,
  eraseCounterKeys,
  eraseDeliveries,
  eraseFacts,
  eraseGrants,
} from "../../store/erasure/erase-attached.ts";
import { findEntries, type Subject } from "../../store/erasure/erase-entries.ts";
import {
  type ErasureRow,
  listRunningErasures,
  lockErasure,
  readErasure,
  subjectContext,
  writeErasureProgress,
} from "../../store/erasure/erasures.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import { addCounts, eraseIntents, eraseOtherEntries, noCounts, revokedRows } from "./erase-page.ts";

export type Erasing = Pick<Runtime, "db" | "ids" | "sealer" | "deliveries">;

export const erasurePages = {
  /** Entries of the ledger, or deliveries, that one page reads. */
  read: 2_000,
  /** Entries that one transaction erases, with all others of their intents. The organization's decisions wait meanwhile. */
  erased: 100,
} as const;

const running_max = 100;

/** Continues all running erasures until they are done. A failing one does not block others. */
export async function runErasures(runtime: Erasing & Pick<Runtime, "log">, stopped: () => boolean): Promise<void> {
  for (const each of await runtime.db.system((query) => listRunningErasures(query, running_max))) {
    try {
      await runErasure(runtime, each.org_id, each.erasure_id, stopped);
    } catch (error) {
      runtime.log.error({ err: error, ...each }, "could not continue an erasure");
    }
  }
}

/** Continues until the erasure is done or `stopped`. Returns its state. */
export async function runErasure(
  runtime: Erasing,
  org_id: string,
  erasure_id: string,
  stopped: () => boolean,
): Promise<ErasureRow> {
  for (;;) {
    const row = await runtime.db.tenant(org_id, (query) => readErasure(query, org_id, erasure_id));
    if (row === undefined) throw new Error(`${erasure_id} is not stored`);
    if (row.status === "done" || stopped()) return row;
    const erasePage = row.delivery_id === null ? eraseLedgerPage : eraseDeliveryPage;
    await runtime.db.tenant(org_id, (query) => erasePage(runtime, query, row));
    // Closed reviews have events.
    runtime.deliveries.wake(org_id);
  }
}

function subjectOf({ sealer }: Pick<Runtime, "sealer">, row: ErasureRow): Subject {
  if (row.subject_sealed === null) throw new Error(`${row.erasure_id} runs without a subject`);
  return { kind: row.kind, subject: sealer.open(row.subject_sealed, subjectContext(row.org_id, row.erasure_id)) };
}

/** Reads and erases in one transaction, and another node that continues the same erasure waits. So nothing is counted twice. */
async function eraseLedgerPage(runtime: Erasing, query: Query, before: ErasureRow): Promise<void> {
  const { org_id, erasure_id, requested_by: by } = before;
  const row = await lockErasure(query, org_id, erasure_id);
  if (row?.status !== "running" || row.delivery_id !== null) return;
  const subject = subjectOf(runtime, row);
  const range = { after_seq: row.seq, to_seq: row.to_seq, rows: erasurePages.read, found_max: erasurePages.erased };
  const found =
    subject.kind === "intent"
      ? { last_seq: null, intent_ids: [subject.subject], seqs: [] }
      : await findEntries(query, org_id, subject, range);
  const eraser = { by, erasure_id };
  let counts = row.counts;
  if (found.intent_ids.length > 0)
    counts = addCounts(counts, await eraseIntents(runtime, query, org_id, found.intent_ids, eraser));
  if (found.seqs.length > 0)
    counts = addCounts(counts, await eraseOtherEntries(runtime, query, org_id, found.seqs, eraser));
  if (found.last_seq !== null) return writeErasureProgress(query, { ...row, seq: found.last_seq, counts });
  counts = addCounts(counts, await eraseNamed(runtime, query, row, subject));
  await writeErasureProgress(query, { ...row, seq: row.to_seq, delivery_id: "", counts });
}

/** Erases what tables without an intent say about the subject. */
async function eraseNamed(
  runtime: Erasing,
  query: Query,
  { org_id, erasure_id, requested_by: by }: ErasureRow,
  { kind, subject }: Subject,
): Promise<Partial<ErasureRow["counts"]>> {
  if (kind === "intent") return {};
  const head = await lockHead(query, org_id);
  const at = await databaseNow(query);
  const inside = JSON.stringify(subject).slice(1, -1);
  const facts = await eraseFacts(query, org_id, kind, subject);
  // The id of an agent stays everywhere.
  if (kind === "agent") {
    if (facts > 0) await changeHead(query, head, { raise: ["context"], audit: [] });
    return { facts };
  }
  const named = kind === "value" ? inside : JSON.stringify(subject);
  const grants = await eraseGrants(query, org_id, [], named);
  const audit = revokedRows(runtime, "grant_revoked", grants.revoked, { at, by, erasure_id });
  if (facts > 0 || audit.length > 0) await changeHead(query, head, { raise: ["context"], audit });
  return {
    ...{ facts, grants: grants.count },
    answers: await eraseAnswers(query, org_id, [named]),
    backtests: await eraseBacktests(query, org_id, [named]),
    counters: await eraseCounterKeys(query, org_id, [], [named, foldName(named)]),
    addresses: kind === "value" ? await eraseAddresses(query, org_id, subject) : 0,
  };
}

async function eraseDeliveryPage(runtime: Erasing, query: Query, row: ErasureRow): Promise<void> {
  const { org_id, erasure_id } = row;
  const locked = await lockErasure(query, org_id, erasure_id);
  if (locked?.status !== "running" || locked.delivery_id === null) return;
  const page = await eraseDeliveries(query, org_id, locked.delivery_id, erasurePages.read);
  const counts = addCounts(locked.counts, { ...noCounts, deliveries: page.erased });
  if (page.last !== null) return writeErasureProgress(query, { ...locked, delivery_id: page.last, counts });
  const head = await lockHead(query, org_id);
  const done_at = await databaseNow(query);
  const data = { erasure_id, counts };
  const entry = { intent_id: null, at: done_at, actor: "system", type: "erasure_done", data } as const;
  await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
  await writeErasureProgress(query, { ...locked, status: "done", counts, done_at });
}
