import type { ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { type Cluster, readPidFile, serverDataDir, spawnAsServer } from "./cluster.ts";
import { isAlive } from "./processes.ts";

export interface Postmaster {
  readonly pid: number;
  readonly exited: Promise<void>;
  /** Requests a fast shutdown, and after 6 s an immediate one. Resolves when the process is gone. */
  stop(): Promise<void>;
}

export class PostmasterFailed extends Error {
  override readonly name = "PostmasterFailed";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join(" | ") || "postgres ended without output");
    this.lines = lines;
  }
}

/** The watchdog is a shell that reads a pipe of this process. At its end (even after kill -9), it stops the server. */
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

/** Values that differ from PostgreSQL's defaults have a reason. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  fsync: "on",
  synchronous_commit: "on",
  max_connections: "100",
  // The supervisor restarts the whole server. PostgreSQL's own restart could hang on a full disk.
  restart_after_crash: "off",
  // Statements are short, so compiling costs more than running.
  jit: "off",
  // After each checkpoint every page is logged in full. Log files are reused after 270 MB, while still in memory: 5 %
  // more throughput than with 2 GB.
  checkpoint_timeout: "15min",
  max_wal_size: "512MB",
  min_wal_size: "256MB",
  // Events are deleted within milliseconds, and searches pass over them until a vacuum.
  autovacuum_naptime: "10s",
  // Filling new log files with zeros delays 1 % of statements before the first checkpoint (p99 23 ms instead of 16 ms).
  wal_init_zero: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "",
  log_min_messages: "warning",
  logging_collector: "off",
};

/** Throws `PostmasterFailed` if the server ends before it accepts connections. */
export async function startPostmaster(
  cluster: Cluster,
  bin_dir: string,
  overrides: Readonly<Record<string, string>>,
  log: Log,
): Promise<Postmaster> {
  const options = Object.entries({ ...settings, ...overrides }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = [`${bin_dir}/postgres`, "-D", serverDataDir(cluster, cluster.db_dir), ...options];
  // Ctrl-C must reach only this process, which stops the server last.
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
    // A later signal could hit another process with the same number.
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

/** FATAL lines of normal starts and stops. */
const startsOrStops =
  /^FATAL: +(terminating .+ due to administrator command|canceling authentication due to timeout|the database system is )/;

export function isWarning(line: string): boolean {
  if (startsOrStops.test(line)) return false;
  return /^(FATAL|PANIC|WARNING|ERROR)/.test(line);
}

/** Keeps the last lines for the message of a failed start. Each line also goes to the log. */
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
