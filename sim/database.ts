import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";
import { migrate } from "../packages/server/src/store/database/migrate.ts";
import { startEmbedded } from "../packages/server/src/store/embedded-postgres/index.ts";
import { databaseOf, dropDatabase } from "../packages/server/src/testing/database/test-server.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";

/**
 * Runs `work` on an empty migrated database, then drops it. Uses `DATABASE_URL` or an embedded server, which does not
 * fsync unless `durable`.
 */
export async function withDatabase(
  work: (connection: ConnectionOptions) => Promise<void>,
  { durable = false }: { readonly durable?: boolean } = {},
): Promise<void> {
  const url = process.env["DATABASE_URL"];
  if (url === undefined || url === "") {
    const data_dir = await mkdtemp(join(tmpdir(), "countersign-sim-"));
    const server = await startEmbedded({ data_dir, ...(durable ? {} : { settings: { fsync: "off" } }) }, silentLog);
    try {
      await migrate(server.connection, silentLog);
      await work(server.connection);
    } finally {
      await server.stop();
      await rm(data_dir, { recursive: true, force: true });
    }
    return;
  }
  const name = `countersign_sim_${randomBytes(6).toString("hex")}`;
  const admin = await openClient({ connectionString: url }, "countersign sim");
  await admin.query(`create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`);
  await admin.end();
  const connection = databaseOf({ connectionString: url }, name);
  try {
    await migrate(connection, silentLog);
    await work(connection);
  } finally {
    await dropDatabase({ connectionString: url }, name);
  }
}
