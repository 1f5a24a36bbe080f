/**
 * Vitest's global set-up: what tests write for their time goes to memory where there is plenty. A database for each test file
 * is hundreds of small files, and making and deleting them on a disk took a fifth of the processor time of the whole run.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const memory = "/dev/shm";
const prefix = "countersign-test-";

/** A run was seen to take half of one GiB at most; what is asked for leaves room for others. */
const room_bytes = 4 * 2 ** 30;

let dir: string | undefined;

/** Changes nothing where TMPDIR names a place, or there is too little memory. */
export function setup(): void {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return;
  removeAbandoned();
  dir = mkdtempSync(join(memory, `${prefix}${process.pid}-`));
  if (!runsPrograms(dir)) {
    teardown();
    return;
  }
  // As /tmp: a database server that root starts belongs to another user.
  chmodSync(dir, 0o1777);
  process.env["TMPDIR"] = dir;
}

/** Called by vitest after all tests. */
export function teardown(): void {
  if (dir !== undefined) rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return Math.min(bavail * bsize, process.availableMemory()) >= room_bytes;
}

/** Containers mount it without the right to. */
function runsPrograms(dir: string): boolean {
  const program = join(dir, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

/** Of runs that were killed: nothing else would ever free that memory. */
function removeAbandoned(): void {
  for (const name of readdirSync(memory).filter((each) => each.startsWith(prefix))) {
    const dir = join(memory, name);
    const pid = Number(name.slice(prefix.length).split("-")[0]);
    const isOurs = statSync(dir, { throwIfNoEntry: false })?.uid === process.getuid?.();
    if (isOurs && !existsSync(`/proc/${pid}`)) rmSync(dir, { recursive: true, force: true });
  }
}
