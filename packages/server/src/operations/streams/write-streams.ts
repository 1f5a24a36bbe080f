/**
 * Writes due streams, on every node; a lease lets one node at a time write a stream. The end of an object is stored
 * before the object is written, so a second attempt writes the same entries under the same name. See
 * docs/decisions/0069-streams.md
 */
import { limits } from "@countersign/contract";
import { hourPath } from "@countersign/core";
import {
  dueStreams,
  endLease,
  leaseStream,
  nextStep,
  type StreamKey,
  type StreamLease,
  type StreamStep,
  saveClosed,
  saveEnd,
  savePosition,
  saveStreamProblem,
} from "../../store/streams/stream-turns.ts";
import type { Runtime } from "../runtime.ts";
import { readLines } from "./stream-lines.ts";
import { objectWriter, type TargetRuntime, type WriteObject } from "./stream-target.ts";

export type StreamWriting = TargetRuntime & Pick<Runtime, "db" | "log">;

/** Turns at a time, of different organizations. Each holds one object of 4 MiB, its entries, and its bytes. */
const turns_max = 4;
const looked_up_max = 200;
/** Then other streams get their turn. */
const steps_max = 16;
/** Longer than half of it and one more step, which writes within 40 s. */
const lease_seconds = 120;

export interface StreamWriter {
  /** Begins turns of due streams. Does not wait for them, so that a slow store delays only its own organization. */
  pass(): Promise<void>;
  /** Resolves when no turn runs. */
  idle(): Promise<void>;
}

/** After `stopping` no turn begins, and objects that are being written are written again later. */
export function createStreamWriter(
  runtime: StreamWriting,
  stopping: AbortSignal,
  object_bytes_max: number = limits.stream_object_bytes_max,
): StreamWriter {
  const turns = new Map<string, Promise<void>>();
  return {
    async pass() {
      const due = await runtime.db.system((query) => dueStreams(query, looked_up_max));
      for (const key of due) {
        if (stopping.aborted || turns.size >= turns_max) return;
        const { org_id } = key;
        if (turns.has(org_id)) continue;
        const terms = { stopping, object_bytes_max };
        turns.set(
          org_id,
          takeTurn(runtime, key, terms).finally(() => turns.delete(org_id)),
        );
      }
    },
    async idle() {
      await Promise.all(turns.values());
    },
  };
}

interface Terms {
  readonly stopping: AbortSignal;
  readonly object_bytes_max: number;
}

/** Never rejects. */
async function takeTurn(runtime: StreamWriting, key: StreamKey, terms: Terms): Promise<void> {
  const { org_id, stream_id } = key;
  let lease: StreamLease | null = null;
  try {
    lease = await runtime.db.tenant(org_id, (query) => leaseStream(query, key, lease_seconds));
    if (lease !== null) await writeWithin(runtime, lease, terms);
  } catch (error) {
    runtime.log.error({ err: error, org_id, stream_id }, "a stream could not be written");
    if (lease !== null) await saveUnexpected(runtime, lease);
  }
}

/** Shows the failure and waits as after others. Without the database, the lease is the wait. Never rejects. */
async function saveUnexpected({ db, log }: StreamWriting, lease: StreamLease): Promise<void> {
  const { org_id, stream_id } = lease;
  const problem = "The service could not read the entries. Its log has the reason.";
  try {
    await db.tenant(org_id, (query) => saveStreamProblem(query, lease, problem));
  } catch (error) {
    log.warn({ err: error, org_id, stream_id }, "the problem of a stream could not be stored");
  }
}

async function writeWithin(
  runtime: StreamWriting,
  lease: StreamLease,
  { stopping, object_bytes_max }: Terms,
): Promise<void> {
  const { org_id, stream_id } = lease;
  const write = objectWriter(runtime, org_id, lease, stopping);
  const began_us = runtime.clock.now_us();
  const isLate = () => runtime.clock.now_us() - began_us > (lease_seconds / 2) * 1_000_000;
  let outcome: Outcome = { seq: lease.seq };
  for (let n = 0; n < steps_max && "seq" in outcome && !stopping.aborted && !isLate(); n += 1) {
    const { seq }: { seq: number } = outcome;
    const step = await runtime.db.tenant(org_id, (query) => nextStep(query, lease, seq));
    if (step.kind === "nothing") break;
    outcome = await takeStep(runtime, lease, write, step, seq, object_bytes_max);
  }
  // Another node has the stream, or somebody changed or deleted it.
  if ("lost" in outcome) return;
  if ("seq" in outcome || stopping.aborted) return runtime.db.tenant(org_id, (query) => endLease(query, lease));
  const { problem } = outcome;
  const is_new = await runtime.db.tenant(org_id, (query) => saveStreamProblem(query, lease, problem));
  if (is_new) runtime.log.warn({ org_id, stream_id }, `a stream is not written: ${problem}`);
}

/** `seq`: the new position. */
type Outcome = { readonly seq: number } | { readonly problem: string } | { readonly lost: true };

const lost = { lost: true } as const;

async function takeStep(
  runtime: StreamWriting,
  lease: StreamLease,
  write: WriteObject,
  step: Exclude<StreamStep, { kind: "nothing" }>,
  seq: number,
  object_bytes_max: number,
): Promise<Outcome> {
  const { org_id } = lease;
  const { db } = runtime;
  if (step.kind === "close") {
    const { hour, note } = step;
    const problem = await write(`${objectName(step)}.checkpoint`, Buffer.from(note, "utf8"));
    if (problem !== null) return { problem };
    return (await db.tenant(org_id, (query) => saveClosed(query, lease, hour))) ? { seq } : lost;
  }
  const { hour, number, after } = step;
  const { bytes, to } = await readObject(runtime, lease, step, object_bytes_max);
  if (step.to === null && !(await db.tenant(org_id, (query) => saveEnd(query, lease, { hour, number, to }))))
    return lost;
  const problem = await write(`${objectName(step)}.jsonl`, bytes);
  if (problem !== null) return { problem };
  return (await db.tenant(org_id, (query) => savePosition(query, lease, { after, to }))) ? { seq: to } : lost;
}

/** A checkpoint has the name of the last object that it covers, so an older one that arrives late replaces no newer one. */
function objectName({ hour, number }: { readonly hour: string; readonly number: number }): string {
  return `${hourPath(hour)}-${String(number).padStart(5, "0")}`;
}

/** Reads the entries of an object. Without a stored end, it ends with its hour or with the entry that fills it. */
async function readObject(
  { db }: Pick<Runtime, "db">,
  { org_id, format, covered_seq }: StreamLease,
  { hour, after, to }: Extract<StreamStep, { kind: "object" }>,
  object_bytes_max: number,
): Promise<{ readonly bytes: Uint8Array; readonly to: number }> {
  const parts: Buffer[] = [];
  let size = 0;
  let place = after;
  for (let more = true; more; ) {
    const range = { after: place, to: to ?? covered_seq, hour: to === null ? hour : null };
    const page = await db.reading(org_id, { seq: range.to }, (query) => readLines(query, org_id, format, range));
    more = page.more;
    for (const { seq, text } of page.entries) {
      const bytes = Buffer.from(text, "utf8");
      parts.push(bytes);
      size += bytes.length;
      place = seq;
      if (to === null && size >= object_bytes_max) return { bytes: Buffer.concat(parts), to: place };
    }
  }
  if (place === after || (to !== null && place !== to))
    throw new Error(`entries of the ledger are missing after ${place}`);
  return { bytes: Buffer.concat(parts), to: place };
}
