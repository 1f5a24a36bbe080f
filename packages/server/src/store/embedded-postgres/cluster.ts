import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import {
  chmod,
  chown,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { makeDataDir, makeDirectory } from "../database/data-directory.ts";
import { StartRefused } from "../database/start-refused.ts";
import { type Identity, isPrivateOf, serverIdentity } from "./identity.ts";

/** All belong to the server's user and have mode 0700. */
export interface Cluster {
  readonly data_dir: string;
  readonly home: string;
  /** PostgreSQL's data directory. */
  readonly db_dir: string;
  /** Null: the user of this process. */
  readonly identity: Identity | null;
}

/** The user of our sessions. It owns the database and is no superuser, so row-level security applies. */
export const app_user = "countersign";
export const app_database = "countersign";

const socket_name = ".s.PGSQL.5432";
/** sun_path has 108 bytes on Linux and 104 on macOS, including the closing zero. */
const socket_path_bytes_max = 103;

export async function openCluster(data_dir: string): Promise<Cluster> {
  await makeDataDir(data_dir);
  const real_dir = await realpath(data_dir);
  const home = join(real_dir, "postgres");
  const db_dir = join(home, "db");
  const identity = await serverIdentity(db_dir);
  try {
    await makePrivate(home, identity);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(
      identity === null
        ? `COUNTERSIGN_DATA_DIR=${JSON.stringify(data_dir)}: uid ${process.getuid?.()} may not use it (${code}), it belongs to uid ${await ownerOf(home, real_dir)}: run as a user who may, or name another directory`
        : `${home} cannot be given to uid ${identity.uid} (${code}), and PostgreSQL does not run as root: run as an ordinary user who owns the directory, or set DATABASE_URL`,
    );
  }
  return { data_dir: real_dir, home, db_dir, identity };
}

async function ownerOf(home: string, above: string): Promise<number> {
  return (await stat(home).catch(() => stat(above))).uid;
}

async function makePrivate(dir: string, identity: Identity | null): Promise<void> {
  await makeDirectory(dir);
  if (identity !== null) await chown(dir, identity.uid, identity.gid);
  await chmod(dir, 0o700);
}

/** `host`: for this process. `server_setting`: for the server, which works in `db_dir`. */
export interface SocketDir {
  readonly host: string;
  readonly server_setting: string;
}

/** Returns `run` beside the database, or a temporary directory if that path is too long. */
export async function socketDir(cluster: Cluster): Promise<SocketDir> {
  const beside = join(cluster.home, "run");
  if (Buffer.byteLength(join(beside, socket_name)) <= socket_path_bytes_max) {
    await makePrivate(beside, cluster.identity);
    return { host: beside, server_setting: "../run" };
  }
  const temporary = Buffer.byteLength(tmpdir()) > 60 ? "/tmp" : tmpdir();
  const name = `countersign-${createHash("sha256").update(cluster.home).digest("hex").slice(0, 16)}`;
  const uid = cluster.identity?.uid ?? process.getuid?.() ?? 0;
  const short = join(temporary, name);
  await mkdir(short, { mode: 0o700 }).then(
    () => makePrivate(short, cluster.identity),
    () => undefined,
  );
  if (await isPrivateOf(short, uid)) return { host: short, server_setting: short };
  // Another user has the name. Any name works, because the server's pid file has it.
  const random = await mkdtemp(join(temporary, "countersign-")).catch((error: NodeJS.ErrnoException) => {
    throw new StartRefused(
      `the path of ${cluster.home} is too long for a socket, and ${temporary} cannot hold one (${error.code}): set TMPDIR to a writable folder, or COUNTERSIGN_DATA_DIR to a shorter path`,
    );
  });
  await makePrivate(random, cluster.identity);
  return { host: random, server_setting: random };
}

/**
 * Returns the major version of the database. Null: no database. Throws `StartRefused` if the version is missing or
 * unreadable, because a new database would hide the loss of data.
 */
export async function clusterMajor({ db_dir }: Cluster): Promise<number | null> {
  try {
    const names = await readdir(db_dir).catch(absent([]));
    if (names.length === 0) return null;
    const version = await readFile(join(db_dir, "PG_VERSION"), "utf8").catch(absent(""));
    const major = Number.parseInt(version, 10);
    if (major > 0) return major;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(
      `the embedded database in ${db_dir} cannot be read (${code}): start as the user who created it, or give it to this user with chown -R`,
    );
  }
  throw new StartRefused(
    `the embedded database in ${db_dir} is damaged, its PG_VERSION is missing or empty: restore the data directory from a backup, or move ${db_dir} away to begin with an empty database`,
  );
}

/** PostgreSQL does not run as root, and other users cannot read root's files. */
export async function refuseRootsFiles({ db_dir, identity }: Cluster): Promise<void> {
  if (identity === null || (await stat(db_dir)).uid !== 0) return;
  throw new StartRefused(
    `the embedded database in ${db_dir} belongs to root, as after a copy without owners (cp -r), and PostgreSQL does not run as root: give it to the server's user, chown -R ${identity.uid}:${identity.gid} ${db_dir}`,
  );
}

function absent<T>(none: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return none;
    throw error;
  };
}

/**
 * The server program gets the directory as descriptor 3, which works even if a parent directory is closed to its user.
 * A relative path fails: initdb before 16 leaves its working directory.
 */
export function serverDataDir(cluster: Cluster, dir: string): string {
  return cluster.identity !== null && process.platform === "linux" ? "/proc/self/fd/3" : dir;
}

/**
 * Starts a program with a fixed environment and `dir` as descriptor 3. Must not wait, because the program could end
 * before the caller listens.
 */
export function spawnAsServer(
  cluster: Cluster,
  dir: string,
  command: readonly string[],
  options: { readonly stdio: ["pipe", "ignore" | "pipe", "ignore" | "pipe"]; readonly detached?: boolean },
): ChildProcess {
  const [program = "", ...args] = command;
  const env = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" };
  const directory = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const stdio = [...options.stdio, directory];
    const child = spawn(program, args, { cwd: "/", env, ...cluster.identity, ...options, stdio });
    // After a write error, the exit event reports the end.
    child.stdin?.on("error", () => undefined);
    return child;
  } finally {
    closeSync(directory);
  }
}

/** Renames the complete database, so an interrupted start leaves no partial one. */
export async function initialise(cluster: Cluster, bin_dir: string): Promise<void> {
  for (const name of await readdir(cluster.home)) {
    if (name.startsWith("new-")) await rm(join(cluster.home, name), { recursive: true, force: true });
  }
  const dir = join(cluster.home, `new-${process.pid}`);
  await makePrivate(dir, cluster.identity);
  const at = serverDataDir(cluster, dir);
  // A new log segment is filled with zeros while all sessions wait: 50 ms for 16 MB.
  const initdb = [join(bin_dir, "initdb"), "-D", at, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8"];
  initdb.push("--wal-segsize=4");
  await run(cluster, dir, initdb, "");
  const sql = `create role ${app_user} login;\ncreate database ${app_database} owner ${app_user};\n`;
  await run(
    cluster,
    dir,
    [join(bin_dir, "postgres"), "--single", "-D", at, "-c", "log_min_messages=error", "postgres"],
    sql,
  );
  await rename(dir, cluster.db_dir);
}

async function run(cluster: Cluster, dir: string, command: readonly string[], input: string): Promise<void> {
  const child = spawnAsServer(cluster, dir, command, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin?.end(input);
  const [output, complaints] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => (stream === null ? "" : text(stream))),
  );
  const code = child.exitCode ?? (child.signalCode === null ? (await once(child, "exit"))[0] : child.signalCode);
  if (code === 0) return;
  const lines = (complaints?.trim() || output?.trim() || `ended with ${code}`).split("\n");
  // The server writes its own error before initdb's summary.
  const reason = (lines.find((line) => /\b(?:FATAL|ERROR|PANIC): /.test(line)) ?? lines.slice(-3).join(" ")).trim();
  const advice = reason.includes("user does not exist")
    ? ": give the user an entry in /etc/passwd, or set DATABASE_URL"
    : "";
  throw new StartRefused(
    `${basename(command[0] ?? "")} could not create the embedded database in ${dir}: ${reason}${advice}`,
  );
}

export interface PidFile {
  readonly pid: number;
  /** May be relative to `db_dir`. */
  readonly socket_dir: string;
  /** `starting`, `ready`, `stopping` or `standby`. */
  readonly status: string;
}

export async function readPidFile(cluster: Cluster): Promise<PidFile | null> {
  const note = await readFile(join(cluster.db_dir, "postmaster.pid"), "utf8").catch(() => null);
  const lines = note?.split("\n") ?? [];
  const pid = Number.parseInt(lines[0] ?? "", 10);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, socket_dir: lines[4] ?? "", status: (lines[7] ?? "").trim() };
}

/** Returns true if a server listens. A killed server's socket refuses at once. */
export function answers(cluster: Cluster, note: PidFile): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(join(resolve(cluster.db_dir, note.socket_dir), socket_name));
    const tell = (answer: boolean) => {
      socket.destroy();
      done(answer);
    };
    socket.once("connect", () => tell(true)).once("error", () => tell(false));
  });
}

/** Removes the pid file of a dead server. PostgreSQL keeps the file if another process has the number. */
export async function removePidFile(cluster: Cluster): Promise<void> {
  await rm(join(cluster.db_dir, "postmaster.pid"), { force: true });
}

/** Removes the socket's lock file of a dead server, which PostgreSQL keeps for the same reason. */
export async function removeSocketLock(cluster: Cluster, socket_dir: string): Promise<void> {
  await rm(join(resolve(cluster.db_dir, socket_dir), `${socket_name}.lock`), { force: true });
}
