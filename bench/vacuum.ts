import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";

/** Lets the server vacuum and analyze after many inserts, as autovacuum does later by itself. */
export async function vacuum(connection: ConnectionOptions, tables: string): Promise<void> {
  const client = await openClient(connection, "bench");
  try {
    await client.query(`vacuum analyze ${tables}`);
  } finally {
    await client.end();
  }
}
