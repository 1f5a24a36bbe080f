import { createHash } from "node:crypto";
import { type Erasure, limits, type SubjectKind, subjectKinds } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { countErasable } from "../../store/erasure/count-erasable.ts";
import { findEntries, holdOnIntent, type Subject } from "../../store/erasure/erase-entries.ts";
import { type ErasureRow, holdOnSubject, insertErasure, subjectContext } from "../../store/erasure/erasures.ts";
import { readDecision } from "../../store/intents/intents.ts";
import { changeHead, lockHead, readAuditSeq } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { noCounts } from "./erase-page.ts";
import { type Erasing, erasurePages, runErasure } from "./run-erasure.ts";

type Requesting = Erasing & Pick<Runtime, "callers" | "clock">;

/** A request erases at least one page, and further ones for this long. Then the worker continues. */
const working_us_max = 2_000_000;

/** Erases what one intent was about. Faults: not_found, legal_hold, unavailable. */
export async function eraseIntent(
  runtime: Requesting,
  caller: Caller,
  intent_id: string,
  dry_run: boolean,
): Promise<Erasure> {
  return erase(runtime, caller, { kind: "intent", subject: intent_id }, dry_run);
}

/** Erases what the records say about a subject. Faults: not_found (the kind), invalid_request, legal_hold, unavailable. */
export async function eraseSubject(
  runtime: Requesting,
  caller: Caller,
  { kind, subject }: Subject,
  dry_run: boolean,
): Promise<Erasure> {
  if (!subjectKinds.some((known) => known === kind)) throw new Fault("not_found");
  if ((kind as SubjectKind) === "value" && subject.length < limits.erased_value_chars_min) {
    const message = `A value needs at least ${limits.erased_value_chars_min} characters. A shorter one would be found by chance.`;
    throw faultAt("invalid_request", "/subject", "too_short", message);
  }
  return erase(runtime, caller, { kind, subject }, dry_run);
}

async function erase(runtime: Requesting, caller: Caller, subject: Subject, dry_run: boolean): Promise<Erasure> {
  if (dry_run) return dryRun(runtime, caller, subject);
  const { row, salt } = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => begin(runtime, query, current, subject)),
  );
  const until_us = runtime.clock.now_us() + working_us_max;
  let pages = 0;
  const stopped = () => {
    pages += 1;
    return pages > 1 && runtime.clock.now_us() > until_us;
  };
  const now = await runErasure(runtime, row.org_id, row.erasure_id, stopped);
  return { ...shownErasure(now), subject_salt: salt };
}

/** Only the caller gets the salt, so nobody can test afterwards whom the erasure was about. */
async function begin(
  runtime: Requesting,
  query: Query,
  { auth_epoch, org_id, actor }: Caller,
  subject: Subject,
): Promise<{ readonly row: ErasureRow; readonly salt: string }> {
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, { auth_epoch });
  await refuseHeld(query, org_id, subject);
  const created_at = await databaseNow(query);
  const erasure_id = runtime.ids.next("erasure");
  const salt = runtime.ids.salt();
  const subject_sha256 = createHash("sha256").update(salt).update(subject.subject).digest("hex");
  const { kind } = subject;
  const data = { erasure_id, kind, subject_sha256 };
  const audit = [auditRow(runtime.ids, { intent_id: null, at: created_at, actor, type: "erasure_requested", data })];
  const { audit_seq: to_seq } = await changeHead(query, head, { audit });
  const row: ErasureRow = {
    ...{ org_id, erasure_id, kind: kind as ErasureRow["kind"], subject_sha256, status: "running", seq: 0, to_seq },
    ...{ delivery_id: null, counts: noCounts, requested_by: actor, created_at, done_at: null },
    subject_sealed: runtime.sealer.seal(subject.subject, subjectContext(org_id, erasure_id)),
  };
  await insertErasure(query, row);
  return { row, salt };
}

/** Faults: not_found, legal_hold. */
async function refuseHeld(query: Query, org_id: string, { kind, subject }: Subject): Promise<void> {
  if (kind === "intent" && (await readDecision(query, org_id, subject)) === undefined) throw new Fault("not_found");
  const hold_id =
    kind === "intent" ? await holdOnIntent(query, org_id, subject) : await holdOnSubject(query, org_id, kind, subject);
  if (hold_id !== null) throw faultAt("legal_hold", "", "not_allowed", `The legal hold ${hold_id} keeps it.`);
}

async function dryRun(runtime: Requesting, { org_id, actor }: Caller, subject: Subject): Promise<Erasure> {
  const [to_seq, created_at] = await runtime.db.tenant(org_id, async (query) => {
    await refuseHeld(query, org_id, subject);
    return [await readAuditSeq(query, org_id), await databaseNow(query)] as const;
  });
  const intent_ids = new Set<string>(subject.kind === "intent" ? [subject.subject] : []);
  let others = 0;
  for (let after_seq: number | null = subject.kind === "intent" ? null : 0; after_seq !== null; ) {
    const range = { after_seq, to_seq, rows: erasurePages.read, found_max: erasurePages.read };
    const found = await runtime.db.tenant(org_id, (query) => findEntries(query, org_id, subject, range));
    for (const intent_id of found.intent_ids) intent_ids.add(intent_id);
    others += found.seqs.length;
    after_seq = found.last_seq;
  }
  const counts = await runtime.db.tenant(org_id, (query) => countErasable(query, org_id, [...intent_ids], subject));
  return {
    ...{
      erasure_id: null,
      kind: subject.kind as Erasure["kind"],
      subject_sha256: null,
      status: "dry_run",
      progress: 1,
    },
    counts: { ...counts, entries: counts.entries + others },
    ...{ requested_by: actor, created_at, done_at: null },
  };
}

export function shownErasure(row: ErasureRow): Erasure {
  const { erasure_id, kind, subject_sha256, status, counts, requested_by, created_at, done_at } = row;
  // The ledger is nearly all of the work.
  const progress = status === "done" ? 1 : row.to_seq === 0 ? 0.99 : Math.min(0.99, row.seq / row.to_seq);
  return { erasure_id, kind, subject_sha256, status, progress, counts, requested_by, created_at, done_at };
}
