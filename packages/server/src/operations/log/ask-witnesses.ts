/**
 * Asks witnesses to cosign new checkpoints (C2SP tlog-witness). Checkpoints never wait for witnesses.
 */
import { cosignedAt, formatTimestampUs, parseNote, parseSignatures, type VerifierKey } from "@countersign/core";
import type { Db } from "../../ports.ts";
import {
  organizationsToWitness,
  saveCosignature,
  saveWitnessProblem,
  takeWitnessTurn,
} from "../../store/log/log-witnesses.ts";
import type { SignedCheckpoint } from "../../store/log/read-checkpoint.ts";
import { consistencyProof } from "../../store/log/read-proofs.ts";
import type { Runtime } from "../runtime.ts";

export interface Witness {
  /** Submission prefix without the last slash. */
  readonly url: string;
  readonly key: VerifierKey;
}

export type Witnessing = Pick<Runtime, "log" | "httpOut"> & { readonly db: Pick<Db, "system" | "tenant"> };

/** Longer than a request, so that nodes do not ask at the same time. */
const turn_seconds = 12;
const failed_wait_seconds = 60;
const timeout_ms = 10_000;
const answer_bytes_max = 20_000;
const organizations_at_once = 500;

/** Asks a witness once for each organization with a checkpoint that it did not cosign. */
export async function askWitness(runtime: Witnessing, witness: Witness, stopped: () => boolean): Promise<void> {
  for (let after = ""; ; ) {
    const page = await runtime.db.system((query) =>
      organizationsToWitness(query, witness.key.name, after, organizations_at_once),
    );
    for (const org_id of page) {
      if (stopped()) return;
      await askFor(runtime, witness, org_id);
    }
    after = page.at(-1) ?? "";
    if (page.length < organizations_at_once) return;
  }
}

type Outcome =
  | { readonly line: string; readonly time_s: number }
  | { readonly has_size: number }
  | { readonly problem: string };

async function askFor(runtime: Witnessing, witness: Witness, org_id: string): Promise<void> {
  const { name } = witness.key;
  const asked = await runtime.db.tenant(org_id, (query) => takeWitnessTurn(query, org_id, name, turn_seconds));
  if (asked === null) return;
  const { cosigned_size, ...checkpoint } = asked;
  let outcome = await submit(runtime, witness, org_id, checkpoint, cosigned_size);
  // The witness knows its size better: an answer of it may have been lost.
  if ("has_size" in outcome && outcome.has_size <= checkpoint.size)
    outcome = await submit(runtime, witness, org_id, checkpoint, outcome.has_size);
  if ("line" in outcome) {
    const cosigned_at = formatTimestampUs(outcome.time_s * 1_000_000);
    const cosigned = { witness: name, size: checkpoint.size, note: checkpoint.note, line: outcome.line, cosigned_at };
    await runtime.db.tenant(org_id, (query) => saveCosignature(query, org_id, cosigned));
    return;
  }
  const problem = "problem" in outcome ? outcome.problem : conflictText(outcome.has_size, checkpoint.size);
  const failed = { witness: name, problem, wait_seconds: failed_wait_seconds };
  const is_new = await runtime.db.tenant(org_id, (query) => saveWitnessProblem(query, org_id, failed));
  if (!is_new) return;
  const level = "problem" in outcome ? "warn" : "error";
  runtime.log[level]({ org_id, witness: name }, `a witness did not cosign the checkpoint: ${problem}`);
}

function conflictText(has_size: number, size: number): string {
  return has_size > size
    ? `it cosigned ${has_size} entries, but this log has ${size}: the database lost data or is an older copy, or another service uses the log's key`
    : "it names another size each time";
}

async function submit(
  { db, httpOut }: Witnessing,
  { url, key }: Witness,
  org_id: string,
  { size, note }: SignedCheckpoint,
  old_size: number,
): Promise<Outcome> {
  const proof =
    old_size === 0 ? [] : await db.tenant(org_id, (query) => consistencyProof(query, org_id, old_size, size));
  const lines = proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`);
  const body = `old ${old_size}\n${lines.join("")}\n${note}`;
  const terms = { timeout_ms, answer_bytes_max };
  const answered = await httpOut.ask(`${url}/add-checkpoint`, { "content-type": "text/plain" }, body, terms);
  if ("failed" in answered) return { problem: answered.text };
  const text = answered.body.toString("utf8");
  const [, has_size] = answered.status === 409 ? (/^(0|[1-9]\d{0,14})\n$/.exec(text) ?? []) : [];
  if (has_size !== undefined) return { has_size: Number(has_size) };
  if (answered.status !== 200) return { problem: `it answered ${answered.status}` };
  const signed = parseNote(note)?.text ?? "";
  for (const signature of parseSignatures(text) ?? []) {
    const time_s = cosignedAt(signed, signature, key);
    if (time_s !== null) return { line: signature.line, time_s };
  }
  return { problem: "its answer has no valid cosignature of its key" };
}
