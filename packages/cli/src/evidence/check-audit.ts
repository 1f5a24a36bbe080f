/** Checks the audit trail of an archive against the log. */
import { createHash, hash } from "node:crypto";
import type { OrgAuditRecord } from "@countersign/contract";
import { canonicalJson, rangeProofRanges, rootOfRange } from "@countersign/core";
import type { Head } from "./check-checkpoint.ts";
import { type CheckedReceipts, checkCommonHead } from "./check-receipts.ts";
import { type Checking, eachLine } from "./checking.ts";
import { names, type RangeProof } from "./layout.ts";
import { type Run, startRuns } from "./leaf-runs.ts";

const proof_bytes_max = 1_048_576;

export interface Trail {
  readonly records: number;
  /** Decisions of the period. */
  readonly decisions: number;
  /** Entries without a gap, with all of the period. Null: none is of the period. */
  readonly run: Run | null;
}

/** By entry. */
type LeafHashes = Map<number, Buffer>;

export async function checkAudit(checking: Checking, head: Head | null, receipts: CheckedReceipts): Promise<Trail> {
  const { problems, isIn } = checking;
  checkCommonHead(checking, receipts, head?.text);
  const hashes: LeafHashes = new Map();
  const runs = startRuns();
  let [records, decisions] = [0, 0];
  let later: OrgAuditRecord | null = null;
  await eachLine<OrgAuditRecord>(checking, names.audit, (record) => {
    records += 1;
    const problem = recordProblem(record) ?? orderProblem(record, later);
    later = record;
    if (problem !== null) return problems.add(`record ${record.seq} of ${names.audit} ${problem}`);
    const counts = isIn(record.at);
    runs.add(record.entry, counts);
    const is_new = !hashes.has(record.entry);
    hashes.set(record.entry, leafHash(record.leaf));
    const is_decision = (JSON.parse(record.leaf) as { type: string }).type === "decided";
    if (!is_decision || !counts || !is_new) return;
    decisions += 1;
    if (receipts.decisions.get(record.intent_id ?? "")?.index !== record.entry)
      problems.add(
        `entry ${record.entry} is a decision of the period, and the archive has no receipt of it that holds`,
      );
  });
  return { records, decisions, run: await checkRuns(checking, head, runs.counted(), hashes) };
}

function leafHash(leaf: string): Buffer {
  return createHash("sha256").update("\0").update(leaf).digest();
}

/** Records come newest first. Between neighbours of the log no record may be missing. */
function orderProblem({ seq, entry }: OrgAuditRecord, later: OrgAuditRecord | null): string | null {
  if (later === null) return null;
  if (seq >= later.seq) return "is not in order";
  const are_neighbours = entry >= later.entry - 1;
  return are_neighbours && seq !== later.seq - 1
    ? `is followed by ${later.seq}: records between them are missing`
    : null;
}

/** Members of the leaf of a decision, by the names in the data of its records. */
const ofDecision = {
  agent_id: "agent_id",
  membrane_id: "membrane_id",
  pipeline_mode: "mode",
  decision_id: "decision_id",
  verdict: "verdict",
  escalation_id: "escalation_id",
  override_id: "override_id",
} as const;

function decisionProblem(
  { type, actor, data }: OrgAuditRecord,
  leaf: Readonly<Record<string, unknown>>,
): string | null {
  if (type === "submitted" && (actor.id ?? "system") !== leaf["actor"]) return "has another actor than its leaf";
  const told = data as Readonly<Record<string, unknown>>;
  const wrong = Object.entries(ofDecision).find(([name, of]) => told[name] !== undefined && told[name] !== leaf[of]);
  return wrong === undefined ? null : `has another ${wrong[0]} than its leaf`;
}

/** Null: the record says what its leaf says. */
function recordProblem(record: OrgAuditRecord): string | null {
  const { actor, at, audit_id, data, intent_id, type, leaf, salt, erased } = record;
  if (leafHash(leaf).toString("hex") !== record.hash) return "has another hash than its leaf";
  const sealed = JSON.parse(leaf) as Readonly<Record<string, unknown>>;
  if (at !== sealed["at"] || intent_id !== sealed["intent_id"]) return "has another time or intent than its leaf";
  if (sealed["type"] === "decided") return decisionProblem(record, sealed);
  if (audit_id !== sealed["audit_id"] || type !== sealed["type"] || (actor.id ?? "system") !== sealed["actor"])
    return "has another id, type or actor than its leaf";
  if (erased !== undefined) return null;
  return hash("sha256", `${salt}${canonicalJson(data)}`) === sealed["data"] ? null : "has other data than its leaf";
}

async function checkRuns(
  { zip, problems }: Checking,
  head: Head | null,
  [run, another]: readonly Run[],
  hashes: LeafHashes,
): Promise<Run | null> {
  if (run === undefined) return null;
  if (another !== undefined) {
    problems.add(`the entries ${another.last + 1} to ${run.first - 1} of the log are missing in ${names.audit}`);
    return null;
  }
  const proof = rangeProofIn(await zip.bytes(names.range, proof_bytes_max));
  if (proof === null || proof.first !== run.first || proof.last !== run.last || proof.size !== head?.size) {
    problems.add(`${names.range} is no proof for the entries ${run.first} to ${run.last}`);
    return null;
  }
  const leafHashOf = (index: number) => hashes.get(index) as Buffer;
  const root = rootOfRange(
    { ...run, leafHash: leafHashOf },
    proof.size,
    proof.hashes.map((text) => Buffer.from(text, "base64")),
  );
  if (root !== null && Buffer.from(root).toString("hex") === head.root) return run;
  problems.add(`the entries ${run.first} to ${run.last} of ${names.audit} are not those of the log`);
  return null;
}

function rangeProofIn(bytes: Buffer): RangeProof | null {
  try {
    const { first, last, size, hashes } = JSON.parse(bytes.toString("utf8")) as RangeProof;
    const numbers = [first, last, size].every((each) => Number.isSafeInteger(each) && each >= 0);
    if (!numbers || last < first || last >= size || !Array.isArray(hashes)) return null;
    if (hashes.length !== rangeProofRanges(first, last, size).length) return null;
    return hashes.every((text) => /^[A-Za-z0-9+/]{43}=$/.test(text)) ? { first, last, size, hashes } : null;
  } catch {
    return null;
  }
}
