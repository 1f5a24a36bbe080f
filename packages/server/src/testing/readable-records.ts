import type { Query } from "../ports.ts";

/**
 * Returns stored documents that PostgreSQL cannot read, as `table.column: reason`. A json column accepts half a
 * surrogate pair or a NUL character, but reading a field fails.
 */
export async function unreadableRecords(db: { readonly query: Query }): Promise<string[]> {
  const columns = await db.query<{ name: string; place: string }>(
    `select quote_ident(column_name) as name, quote_ident(table_name) as place from information_schema.columns
     where table_schema = current_schema() and data_type = 'json' order by table_name, column_name`,
  );
  const found: string[] = [];
  for (const { name, place } of columns) {
    await db.query(`select count(${name}::jsonb) as readable from ${place}`).catch((error: Error) => {
      found.push(`${place}.${name}: ${error.message}`);
    });
  }
  return found;
}
