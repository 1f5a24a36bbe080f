/** Checks an evidence archive offline (decision 0068). */
import { createHash } from "node:crypto";
import type { VerifyReceiptOptions } from "@countersign/sdk/verify";
import { CommandFailed } from "../command-failed.ts";
import { counted } from "../counted.ts";
import { checkAudit, type Trail } from "./check-audit.ts";
import { type Head, headSigned } from "./check-checkpoint.ts";
import { type CheckedReceipts, checkReceipt, startReceipts } from "./check-receipts.ts";
import { checkPolicies, checkRecords } from "./check-records.ts";
import { type Checking, startProblems } from "./checking.ts";
import { archive_format, intentOf, type Manifest, names } from "./layout.ts";
import { within } from "./reading.ts";
import { Damaged, openZip, type ZipReader } from "./zip-reader.ts";

export interface ArchiveVerdict {
  readonly ok: boolean;
  readonly org_id: string;
  readonly from: string;
  readonly to: string;
  readonly receipts: number;
  readonly receipts_held: number;
  /** The entries of the log that the archive has without a gap. Null: none of the period. */
  readonly entries: { readonly first: number; readonly last: number } | null;
  readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string } | null;
  readonly proved: readonly string[];
  readonly not_proved: readonly string[];
  /** Why the archive is refused. At most 20; `problem_count` counts all. */
  readonly problems: readonly string[];
  readonly problem_count: number;
}

const manifest_bytes_max = 512 * 1_048_576;

/**
 * Checks files, checkpoint, receipts, records, policies, and that no entry of the period is missing. Throws CommandFailed for
 * a file that is no evidence archive, and TypeError for `keys` that no archive could match.
 */
export async function verifyArchive(
  path: string,
  terms: VerifyReceiptOptions,
  report: (done: number, text: string) => void,
): Promise<ArchiveVerdict> {
  const zip = await openZip(path);
  try {
    const manifest = await manifestOf(zip, path);
    const problems = startProblems();
    const checking: Checking = { zip, manifest, terms, problems, isIn: within(manifest) };
    const head = await headSigned(checking);
    const receipts = await checkFiles(checking, report);
    const trail = await unlessDamaged(checking, () => checkAudit(checking, head, receipts));
    const lines = await unlessDamaged(checking, () => checkRecords(checking, receipts));
    const policies = await unlessDamaged(checking, () => checkPolicies(checking));
    return verdictOf(checking, head, receipts, { trail, lines, policies });
  } finally {
    zip.close();
  }
}

async function manifestOf(zip: ZipReader, path: string): Promise<Manifest> {
  const wrong = (why: string) => new CommandFailed(`${path} is no evidence archive that this version reads: ${why}`);
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse((await zip.bytes(names.manifest, manifest_bytes_max)).toString("utf8"));
  } catch (error) {
    if (error instanceof Damaged) throw wrong(error.message);
    throw wrong(`${names.manifest} is not JSON`);
  }
  if (manifest?.format !== archive_format) throw wrong(`${names.manifest} has another format than ${archive_format}`);
  const { from, to, org_id, files } = manifest;
  if (
    typeof from !== "string" ||
    typeof to !== "string" ||
    typeof org_id !== "string" ||
    typeof files !== "object" ||
    files === null
  )
    throw wrong(`${names.manifest} is incomplete`);
  return manifest as Manifest;
}

/** Adds a problem instead of ending the check, because the other files say how much is damaged. */
async function unlessDamaged<T>({ problems }: Checking, check: () => Promise<T>): Promise<T | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    problems.add(error.message);
    return null;
  }
}

/** Compares each file with the manifest, and verifies receipts on the way. */
async function checkFiles(checking: Checking, report: (done: number, text: string) => void): Promise<CheckedReceipts> {
  const { zip, manifest, problems } = checking;
  const receipts = startReceipts();
  const sums = new Map(Object.entries(manifest.files));
  for (const [n, name] of zip.names.entries()) {
    report(n / zip.names.length, `${n.toLocaleString("en-US")} files`);
    if (name === names.manifest) continue;
    const sum = sums.get(name);
    sums.delete(name);
    if (sum === undefined) problems.add(`${name} is not in ${names.manifest}`);
    const bytes = await unlessDamaged(checking, () => readFile(checking, name, sum));
    const intent_id = intentOf(name);
    if (intent_id !== null) await checkReceipt(checking, receipts, intent_id, bytes);
  }
  for (const name of sums.keys()) problems.add(`${name} is missing`);
  return receipts;
}

/** Returns the bytes of a receipt; null for other files, which may be large. */
async function readFile(
  { zip, problems }: Checking,
  name: string,
  expected: string | undefined,
): Promise<Buffer | null> {
  const kept: Buffer[] | null = intentOf(name) === null ? null : [];
  const sum = createHash("sha256");
  let size = 0;
  for await (const piece of zip.pieces(name)) {
    sum.update(piece);
    size += piece.length;
    if (size <= receipt_bytes_max) kept?.push(piece);
  }
  if (expected !== undefined && sum.digest("hex") !== expected)
    problems.add(`${name} was changed: it has another hash than ${names.manifest} says`);
  return kept === null || size > receipt_bytes_max ? null : Buffer.concat(kept);
}

/** No receipt is larger. */
const receipt_bytes_max = 32 * 1_048_576;

interface Checked {
  readonly trail: Trail | null;
  readonly lines: number | null;
  readonly policies: number | null;
}

function verdictOf(
  { manifest, problems, zip }: Checking,
  head: Head | null,
  receipts: CheckedReceipts,
  { trail, lines, policies }: Checked,
): ArchiveVerdict {
  const { org_id, from, to } = manifest;
  const run = trail?.run ?? null;
  const ok = problems.count() === 0;
  const proved = [
    `No file was changed, removed or added: ${counted(zip.names.length - 1, "file")}.`,
    `The key ${head?.signed_by} signed that the log ${head?.origin} has ${head?.size} entries with this root.`,
    `${receipts.held} of ${counted(receipts.count, "receipt")} hold, all under this checkpoint.`,
    ...(run === null
      ? []
      : [
          `The archive has every entry of the log from ${run.first} to ${run.last}, in ${counted(trail?.records ?? 0, "audit record")}. ` +
            `Each decision of the period among them has a receipt: ${trail?.decisions}.`,
        ]),
    `Each line of ${names.decisions} agrees with its receipt: ${lines}.`,
    `Each policy document has the hash that ${names.in_force} says: ${policies}.`,
  ];
  return {
    ...{
      ok,
      org_id,
      from,
      to,
      receipts: receipts.count,
      receipts_held: receipts.held,
      entries: run === null ? null : { first: run.first, last: run.last },
    },
    checkpoint: head === null ? null : { origin: head.origin, size: head.size, root: head.root },
    proved: ok ? proved : [],
    not_proved: ok ? notProved(run, head?.size ?? 0) : [],
    ...{ problems: problems.first, problem_count: problems.count() },
  };
}

function notProved(run: Trail["run"], size: number): string[] {
  const edges =
    run === null
      ? ["That nothing happened in the period: the archive has no entry of it."]
      : [
          ...(run.first_counts && run.first > 0
            ? [`That the period begins with entry ${run.first}: compare with the archive of the time before.`]
            : []),
          ...(run.last_counts && run.last < size - 1
            ? [`That the period ends with entry ${run.last}: compare with the archive of the time after.`]
            : []),
        ];
  return [
    "That facts were true, and that names and times are right: they are as the service recorded them.",
    "That the log shows everybody the same entries: compare the checkpoint with one that you noted at another time.",
    ...edges,
    "What erased or withheld documents said, and that an action had the outcome that its agent reported.",
    `Reasons, risks and outcomes in ${names.decisions}, and names of rules in ${names.audit}: the receipts have them.`,
    `The words of ${names.summary} and ${names.readme}, and that ${names.in_force} is complete before the period.`,
  ];
}
