/** A primary and a streaming standby that answers queries. */
import { execFile } from "node:child_process";
import { appendFile, chown, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import type { Log } from "../../ports.ts";
import { type EmbeddedPostgres, startEmbedded } from "../../store/embedded-postgres/index.ts";
import { type Network, openNetwork } from "../network/network.ts";
import { silentLog } from "../nodes/silent-log.ts";
import { gone, madeDir, sql, started, temporaryDir } from "./embedded.ts";

type Socket = EmbeddedPostgres["connection"];

const settings = { wal_level: "replica", max_wal_senders: "4", hot_standby: "on" };

/** Both stop after the test. */
export interface Pair {
  readonly primary: EmbeddedPostgres;
  /** A socket, which bypasses the network. */
  readonly standby: Socket;
  readonly networks: { readonly primary: Network; readonly standby: Network };
  /** `host:port`, through their networks. */
  readonly addresses: { readonly primary: string; readonly standby: string };
  /** The standby shows all commits of the primary. */
  replayed(): Promise<void>;
  promote(): Promise<void>;
  kill(): Promise<void>;
  /** Restarts the promoted standby as a standby without primary, with its own history. */
  demote(): Promise<void>;
}

/** `log` gets the standby's log. */
export async function openPair(log: Log = silentLog, more: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const [of_primary, of_standby] = [await madeDir(), join(await temporaryDir(), "data")];
  // A standby needs a log that was written for standbys.
  await (await startEmbedded({ data_dir: of_primary, settings }, silentLog)).stop();
  await promisify(execFile)("cp", ["-a", of_primary, of_standby]);
  const primary = await started({ data_dir: of_primary, settings });
  const to_primary = await openNetwork(primary.connection);
  onTestFinished(() => to_primary.close());
  const db_dir = join(of_standby, "postgres/db");
  await appendFile(
    join(db_dir, "postgresql.auto.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${portOf(to_primary)} user=postgres'\n`,
  );
  const standby = { ...primary.connection, host: join(of_standby, "postgres/run") };
  const options = { data_dir: of_standby, settings: { ...settings, ...more } };
  let running = await startStandby(db_dir, standby, () => startEmbedded(options, log));
  onTestFinished(() => running.end());
  const to_standby = await openNetwork(standby);
  onTestFinished(() => to_standby.close());
  return {
    primary,
    standby,
    networks: { primary: to_primary, standby: to_standby },
    addresses: { primary: `127.0.0.1:${portOf(to_primary)}`, standby: `127.0.0.1:${portOf(to_standby)}` },
    async replayed() {
      const [at] = await sql(primary.connection, "select pg_current_wal_flush_lsn()::text as lsn");
      const [done] = [`select pg_last_wal_replay_lsn() >= '${at?.["lsn"]}'::pg_lsn as done`];
      await expect.poll(() => sql(standby, done)).toEqual([{ done: true }]);
    },
    async promote() {
      await sql(standby, "select pg_promote()", "postgres");
      await running.promoted;
    },
    kill: () => running.end(),
    async demote() {
      await (await running.promoted).stop();
      await writeFile(join(db_dir, "postgresql.auto.conf"), "");
      running = await startStandby(db_dir, standby, () => startEmbedded(options, log));
    },
  };
}

function portOf({ connection }: Network): number {
  if (!("host" in connection)) throw new Error("the embedded server has a host");
  return connection.port;
}

/** `start` resolves when the server is promoted. */
async function startStandby(db_dir: string, socket: Socket, start: () => Promise<EmbeddedPostgres>) {
  const signal = join(db_dir, "standby.signal");
  await writeFile(signal, "");
  const { uid, gid } = await stat(db_dir);
  await chown(signal, uid, gid);
  const promoted = start();
  // Rejects if the server ends earlier.
  promoted.catch(() => undefined);
  await expect.poll(() => sql(socket, "select 1 as one").catch(String)).toEqual([{ one: 1 }]);
  const pid = Number.parseInt(await readFile(join(db_dir, "postmaster.pid"), "utf8"), 10);
  let is_promoted = false;
  void promoted.then(
    () => {
      is_promoted = true;
    },
    () => undefined,
  );
  return {
    promoted,
    async end() {
      if (is_promoted) return (await promoted).stop();
      // Immediate shutdown: sessions end without notice.
      process.kill(pid, "SIGQUIT");
      await gone(pid);
      await promoted.catch(() => undefined);
    },
  };
}
