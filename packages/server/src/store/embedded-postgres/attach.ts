import { realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { app_database, app_user, type Cluster, readPidFile } from "./cluster.ts";
import type { EmbeddedPostgres } from "./index.ts";
import { isAlive, worksIn } from "./processes.ts";

/** Returns the connection to the embedded server of another process. Null: no server runs there. Changes nothing. */
export async function attachEmbedded(data_dir: string): Promise<EmbeddedPostgres["connection"] | null> {
  const home = join(data_dir, "postgres");
  const db_dir = join(home, "db");
  if ((await stat(db_dir).catch(() => null)) === null) return null;
  const cluster: Cluster = { data_dir, home, db_dir: await realpath(db_dir), identity: null };
  const note = await readPidFile(cluster);
  if (note === null || note.status !== "ready" || !(await isAlive(note.pid))) return null;
  if ((await worksIn(note.pid, cluster.db_dir)) === false) return null;
  return { host: resolve(cluster.db_dir, note.socket_dir), port: 5432, user: app_user, database: app_database };
}
