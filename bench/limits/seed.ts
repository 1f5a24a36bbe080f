import pg from "pg";
import { attachEmbedded } from "../../packages/server/src/store/embedded-postgres/attach.ts";

/** Adds live keys with one entry each to the only counter of an organization, as if each of these targets had been paid once. */
export async function seedKeys(data_dir: string, api_key: string, keys: number): Promise<void> {
  const connection = await attachEmbedded(data_dir);
  if (connection === null) throw new Error("the embedded database does not run");
  const client = new pg.Client(connection);
  await client.connect();
  await client.query("select set_config('app.org', '*', false)");
  const found = await client.query("select org_id from key_index where key_sha256 = sha256(convert_to($1, 'UTF8'))", [
    api_key,
  ]);
  const { org_id } = found.rows[0];
  await client.query(
    `insert into counters (org_id, mode, name, key_sha, key, agent_id, ends_at)
     select $1, 'live', 'count.spent', substring(sha256(convert_to(key, 'UTF8')) for 16), key, 'billing-agent', now() + interval '1 hour'
     from (select '["seeded-' || n || '"]' as key from generate_series(0, $2::int - 1) n) k`,
    [org_id, keys],
  );
  await client.query(
    `insert into counter_entries (org_id, mode, name, key_sha, seq, at, intent_id, micros, state, vals, ends_at)
     select org_id, mode, name, key_sha, row_number() over (), now(), 'int_' || substring(key_sha::text from 3), 12500000, 'approve', null, now() + interval '1 hour'
     from counters where org_id = $1 and name = 'count.spent'`,
    [org_id],
  );
  await client.query("update org_heads set counter_keys = $2, counter_changes = $3 where org_id = $1", [
    org_id,
    Math.min(keys, 999_000),
    keys,
  ]);
  await client.query("vacuum (analyze) counters");
  await client.query("vacuum (analyze) counter_entries");
  await client.end();
}
