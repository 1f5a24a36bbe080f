import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";

/** Vacuums at once, as autovacuum would do later. */
export async function vacuum(connection: ConnectionOptions, tables: string): Promise<void> {
  const client = await openClient(connection, "bench");
  try {
    await client.query(`vacuum analyze ${tables}`);
  } finally {
    await client.end();
  }
}
