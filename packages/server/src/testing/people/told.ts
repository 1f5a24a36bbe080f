import { eventTypes } from "@countersign/contract";
import type { TestDatabase } from "../database/database.ts";

type Db = TestDatabase["db"];

/** The secret cannot be opened, so nothing is sent. */
export async function listen(db: Db, org_id: string): Promise<void> {
  await db.query(
    `insert into webhooks (org_id, webhook_id, url, event_types, secret_sealed, active, description, created_at)
     select $1, 'wh_listens', 'https://receiver.test/', json_agg(t.type), 'v2.none.', true, '', now()
     from unnest($2::text[]) as t(type)`,
    [org_id, Object.keys(eventTypes)],
  );
  await db.query("update org_heads set webhooks = 1, policy_epoch = policy_epoch + 1 where org_id = $1", [org_id]);
}

/** In order, dispatched or not. */
export async function told<Body>(db: Db, org_id: string): Promise<Body[]> {
  const rows = await db.query<{ body: Body }>(
    `select body from (
       select event_id, body::jsonb as body from events where org_id = $1
       union all
       select event_id, body::jsonb - 'webhook_id' from deliveries where org_id = $1) t
     order by event_id`,
    [org_id],
  );
  return rows.map((row) => row.body);
}
