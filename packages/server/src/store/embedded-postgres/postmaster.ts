/** One server process, ours or adopted, tied to our life: when this process ends, however it ends, the server stops. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type Cluster, readPidFile, serverDataDir, spawnAsServer } from "./cluster.ts";
import { isAlive } from "./processes.ts";

/** A running server. */
export interface Postmaster {
  readonly pid: number;
  /** Resolves once the process is gone. */
  readonly exited: Promise<void>;
  /** Fast shutdown; after 6 s an immediate one (the next start recovers from the log). Resolves once the process is gone. */
  stop(): Promise<void>;
}

/** The server ended before it was ready; `lines` are the last it wrote. */
export class PostmasterFailed extends Error {
  override readonly name = "PostmasterFailed";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join(" | ") || "postgres ended without a word");
    this.lines = lines;
  }
}

/**
 * The watchdog: a shell that holds the reading end of a pipe from us. End of file means that we are gone, kill -9 included,
 * and then it asks the server for a fast shutdown. (PostgreSQL does not look at its standard input itself.)
 */
const start_script = `exec 4<&0
"$@" </dev/null 4<&- & server=$!
{ while read -r _; do :; done; kill -INT $server; } <&4 >/dev/null 2>&1 & watch=$!
exec 4<&-
wait $server; status=$?
kill $watch 2>/dev/null
exit $status`;
const watch_script = `while read -r _; do :; done; kill -INT "$1"`;

const ready_poll_ms = 5;
const slow_start_ms = 5_000;
const fast_stop_ms = 6_000;

/** Settings of the server; reasons stand where they differ from PostgreSQL's defaults. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  fsync: "on",
  synchronous_commit: "on",
  max_connections: "100",
  // Where a process of the server crashes the whole server ends, and we start it again. Left to itself, it overlooked a
  // checkpointer that failed on a full disk right after a recovery had begun, and that recovery waited for it, deaf to a stop.
  restart_after_crash: "off",
  // Policies are short statements: compiling a plan costs more than running it.
  jit: "off",
  // Few checkpoints, as each one makes every page be logged whole again; but log files are used again after 270 MB, while the
  // system still holds them in memory. With 2 GB the first 500,000 decisions each went to new files, whose blocks had to be
  // found in memory and on disk first: 71 µs of the server's time for a decision in place of 79, a twentieth more a second.
  checkpoint_timeout: "15min",
  max_wal_size: "512MB",
  min_wal_size: "256MB",
  // Events go within milliseconds, and whoever looks for the next passes what is left of those before until it is vacuumed.
  autovacuum_naptime: "10s",
  // A new log file need not be written full of zeros before its first use: until the first checkpoint every file is new, and
  // under load a statement in a hundred waited for it (99th percentile 23 ms in place of 16).
  wal_init_zero: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "",
  log_min_messages: "warning",
  logging_collector: "off",
};

/** Starts the server and resolves when it takes connections; throws `PostmasterFailed` when it ends before that. */
export async function startPostmaster(
  cluster: Cluster,
  bin_dir: string,
  overrides: Readonly<Record<string, string>>,
  log: Log,
): Promise<Postmaster> {
  const options = Object.entries({ ...settings, ...overrides }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = [`${bin_dir}/postgres`, "-D", serverDataDir(cluster, cluster.db_dir), ...options];
  // Its own process group: Ctrl-C in the terminal is for us, and we stop the server when our work is done.
  const child = spawnAsServer(
    cluster,
    cluster.db_dir,
    ["/bin/sh", "-c", start_script, "countersign-postgres", ...command],
    {
      stdio: ["pipe", "ignore", "pipe"],
      detached: true,
    },
  );
  const lines = lastLines(child, log);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    child.once("error", (error) => lines.push(error.message));
    child.once("close", () => {
      ended = true;
      resolve();
    });
  });
  for (let waited_ms = 0; ; waited_ms += ready_poll_ms) {
    await pause(ready_poll_ms);
    if (ended) throw new PostmasterFailed(lines);
    const note = await readPidFile(cluster);
    if (note?.status === "ready" && (await isAlive(note.pid))) {
      return { pid: note.pid, exited, stop: () => stopVia(child, note.pid, exited) };
    }
    if (waited_ms > 0 && waited_ms % slow_start_ms === 0)
      log.warn({ status: note?.status ?? null }, "the embedded database is still starting");
  }
}

/** Takes over a server whose starter is gone: watches it, stops it with us. */
export async function adoptPostmaster(cluster: Cluster, pid: number): Promise<Postmaster> {
  const watchdog = spawnAsServer(
    cluster,
    cluster.db_dir,
    ["/bin/sh", "-c", watch_script, "countersign-watch", String(pid)],
    {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    },
  );
  watchdog.once("error", () => undefined);
  const exited = (async () => {
    while (await isAlive(pid)) await pause(100, undefined, { ref: false });
    // Not a fast shutdown of whoever gets this number next.
    watchdog.kill("SIGKILL");
  })();
  return { pid, exited, stop: () => stopVia(watchdog, pid, exited) };
}

async function stopVia(holder: ChildProcess, pid: number, exited: Promise<void>): Promise<void> {
  holder.stdin?.end();
  for (const signal of ["SIGQUIT", "SIGKILL"] as const) {
    const gone = await Promise.race([exited.then(() => true), pause(fast_stop_ms, false, { ref: false })]);
    if (gone) return;
    if (await isAlive(pid)) process.kill(pid, signal);
  }
  await exited;
}

/**
 * Lines that a server logs as FATAL although it only starts or stops: the end of a process (a session, autovacuum), the end of a
 * session that was being opened ("authentication"), and a refused session. The client of such a session gets the error itself.
 */
const startsOrStops =
  /^FATAL: +(terminating .+ due to administrator command|canceling authentication due to timeout|the database system is )/;

/** Whether people should see this line. */
export function isWarning(line: string): boolean {
  if (startsOrStops.test(line)) return false;
  return /^(FATAL|PANIC|WARNING|ERROR)/.test(line);
}

/** The last lines that the server wrote, kept for the message of a failed start; each also goes to the log. */
function lastLines(child: ChildProcess, log: Log): string[] {
  const lines: string[] = [];
  let rest = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop()?.slice(0, 10_000) ?? "";
    for (const line of parts.filter((part) => part.trim() !== "")) {
      lines.push(line);
      if (lines.length > 10) lines.shift();
      if (isWarning(line)) log.warn({ postgres: line }, "embedded database");
      else log.debug({ postgres: line }, "embedded database");
    }
  });
  return lines;
}
