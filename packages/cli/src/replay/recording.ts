import { stat } from "node:fs/promises";
import type { IntentSubmission } from "@countersign/contract";
import { CommandFailed } from "../command-failed.ts";
import { exactJson } from "../exact-json.ts";
import { unreadable } from "../file-fault.ts";
import { openText } from "../open-text.ts";

export interface RecordedCall {
  readonly call: number;
  readonly body: IntentSubmission;
}

/**
 * Yields the calls of a recording in order. A line is `{"call": n, "body": {…}}`, or a submission body, whose call is
 * its line number (from 0). Throws `CommandFailed` with file and line for any other line.
 */
export async function* readRecording(path: string): AsyncGenerator<RecordedCall> {
  // Loaded late: otherwise every command, even `--help`, takes twice as long to start.
  const { linesOf } = await import("@countersign/core");
  let line = 0;
  try {
    for await (const each of linesOf(await openText(path))) {
      if (each.trim() !== "") yield await parseLine(each, line, path);
      line += 1;
    }
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw unreadable(line === 0 ? path : `${path} after line ${line}`, error);
  }
}

/** Reads the whole recording, so that a bad line is found before anything is sent. Returns the number of calls. */
export async function checkRecording(path: string): Promise<number> {
  const seen = new Set<number>();
  // The later read reports an unreadable file.
  const kind = await stat(path).catch(() => null);
  if (kind !== null && !kind.isFile() && !kind.isDirectory())
    throw new CommandFailed(
      `${path} is not a file: the command reads a recording twice, so save the pipe's output first`,
    );
  for await (const { call } of readRecording(path)) {
    if (seen.has(call)) throw new CommandFailed(`${path}: call ${call} occurs twice`);
    seen.add(call);
  }
  return seen.size;
}

/** Refuses numbers that would be rounded, so that the submitted action equals the recorded one. */
async function parseLine(text: string, line: number, path: string): Promise<RecordedCall> {
  const where = `${path}, line ${line + 1}`;
  const value = (await exactJson(text, where, submissionIn)) as Line;
  if (typeof value?.intent === "object") return { call: line, body: value as IntentSubmission };
  if (typeof value?.body !== "object" || value.body === null || !Number.isSafeInteger(value.call)) {
    throw new CommandFailed(`${where} is neither {"call": n, "body": {…}} nor a submission with "intent"`);
  }
  return { call: value.call as number, body: value.body as IntentSubmission };
}

type Line = { readonly call?: unknown; readonly body?: unknown; readonly intent?: unknown } | null;

function submissionIn(value: unknown): unknown {
  const line = value as Line;
  return typeof line?.intent === "object" ? line : line?.body;
}
