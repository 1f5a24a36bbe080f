import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";

/** Has the server clean up after many inserts and gather its statistics, as it does by itself in time. */
export async function vacuum(connection: ConnectionOptions, tables: string): Promise<void> {
  const client = await openClient(connection, "bench");
  try {
    await client.query(`vacuum analyze ${tables}`);
  } finally {
    await client.end();
  }
}
