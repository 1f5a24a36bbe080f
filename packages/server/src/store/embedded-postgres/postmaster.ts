/** One server process, started or adopted. When this process ends for any reason, the server stops. */
import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type Cluster, readPidFile, serverDataDir, spawnAsServer } from "./cluster.ts";
import { isAlive } from "./processes.ts";

/** A running server. */
export interface Postmaster {
  readonly pid: number;
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  /**
   * Requests a fast shutdown, and after 6 s an immediate one (the next start recovers from the log). Resolves when the
   * process is gone.
   */
  stop(): Promise<void>;
}

/** The server ended before it was ready. `lines` are its last lines of output. */
export class PostmasterFailed extends Error {
  override readonly name = "PostmasterFailed";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join(" | ") || "postgres ended without output");
    this.lines = lines;
  }
}

/**
 * The watchdog: a shell that reads from a pipe of this process. End of file means that this process has ended, even by
 * kill -9. The shell then requests a fast shutdown of the server. PostgreSQL itself does not read its standard input.
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

/** Settings of the server. A comment gives the reason for a value that differs from PostgreSQL's default. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  fsync: "on",
  synchronous_commit: "on",
  max_connections: "100",
  // After a crash of one of its processes the whole server ends, and the supervisor restarts it. PostgreSQL's own
  // restart could hang: it missed a checkpointer that failed on a full disk just after recovery had begun. The recovery
  // waited for that checkpointer and ignored a stop.
  restart_after_crash: "off",
  // Statements are short, so compiling a plan costs more than running it.
  jit: "off",
  // Few checkpoints, because after each one every page is logged in full again. But log files are reused after 270 MB,
  // while the system still has them in memory. With 2 GB the first 500,000 decisions each wrote to new files, and the
  // system had to allocate their blocks. Now a decision takes 71 µs of the server's time instead of 79, and throughput
  // is 5 % higher.
  checkpoint_timeout: "15min",
  max_wal_size: "512MB",
  min_wal_size: "256MB",
  // Events are deleted within milliseconds. Until a vacuum, each search for the next event passes over the deleted
  // ones.
  autovacuum_naptime: "10s",
  // A new log file is not filled with zeros before its first use. Until the first checkpoint every file is new, and 1 %
  // of the statements waited for this under load. The 99th percentile was 23 ms instead of 16 ms.
  wal_init_zero: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "",
  log_min_messages: "warning",
  logging_collector: "off",
};

/** Starts the server. Resolves when it accepts connections. Throws `PostmasterFailed` if it ends before that. */
export async function startPostmaster(
  cluster: Cluster,
  bin_dir: string,
  overrides: Readonly<Record<string, string>>,
  log: Log,
): Promise<Postmaster> {
  const options = Object.entries({ ...settings, ...overrides }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = [`${bin_dir}/postgres`, "-D", serverDataDir(cluster, cluster.db_dir), ...options];
  // A process group of its own: Ctrl-C in the terminal must reach only this process, which stops the server after its
  // own work.
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

/** Takes over a server whose parent process is gone: watches it, and stops it together with this process. */
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
    // A later fast shutdown could hit another process with the same number.
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
 * Lines that a server logs as FATAL although it only starts or stops. They report the end of a process (a session,
 * autovacuum), the end of a session during authentication, or a refused session. The client of such a session gets the
 * error itself.
 */
const startsOrStops =
  /^FATAL: +(terminating .+ due to administrator command|canceling authentication due to timeout|the database system is )/;

/** Returns true if this line must be logged as a warning. */
export function isWarning(line: string): boolean {
  if (startsOrStops.test(line)) return false;
  return /^(FATAL|PANIC|WARNING|ERROR)/.test(line);
}

/** Collects the server's last lines for the message of a failed start. Each line also goes to the log. */
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
