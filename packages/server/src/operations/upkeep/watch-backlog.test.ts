import { expect, test } from "vitest";
import { timers } from "../../edge/timers.ts";
import { backlog_counted_max } from "../../store/upkeep/backlog.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createBacklogWatch } from "./watch-backlog.ts";

const { db } = await testDatabase();

const addEvents = (org_id: string, count: number) =>
  db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || n, 'quota.exceeded', '{}', now() from generate_series(1, $2::integer) n`,
    [org_id, count],
  );

test("counts the backlog of all organizations, up to its limit", async () => {
  const count = createBacklogWatch(db, timers, silentLog);
  expect(await count()).toEqual({ events: 0, deliveries: 0, mails: 0 });
  await addEvents("org_a", 2);
  await addEvents("org_b", 1);
  await db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, created_at, due_at, settled_at)
     select 'org_a', 'dlv_' || status, 'whk_1', 'evt_1', 'quota.exceeded', '{}', status, 0, '[]', now(), now(),
       case when status <> 'pending' then now() end
     from unnest(array['pending', 'delivered', 'failed', 'cancelled']) status`,
  );
  await db.query(
    "insert into mails (mail_id, kind, sealed, created_at, due_at) values ('mail_1', 'account', 'x', now(), now())",
  );
  expect(await count()).toEqual({ events: 3, deliveries: 1, mails: 1 });
  await addEvents("org_c", backlog_counted_max);
  expect(await count()).toMatchObject({ events: backlog_counted_max });
});

test("does not wait for a database without an answer, and does not ask again before it answers", async () => {
  let asked = 0;
  let answer: (rows: object[]) => void = () => undefined;
  let late: () => void = () => undefined;
  const silent = {
    queued: <Row extends object>() => {
      asked += 1;
      return new Promise<Row[]>((resolve) => {
        answer = (rows) => resolve(rows as Row[]);
      });
    },
  };
  const after = (_: number, run: () => void) => {
    late = run;
    return () => undefined;
  };
  const count = createBacklogWatch(silent, { ...timers, after }, silentLog);
  const first = count();
  late();
  expect(await first).toBeNull();
  const second = count();
  expect(asked).toBe(1);
  const backlog = { events: 1, deliveries: 2, mails: 3 };
  answer([backlog]);
  expect(await second).toEqual(backlog);
  void count();
  expect(asked).toBe(2);
});

test("a refusing database gives null, and the log says why", async () => {
  const logged: object[] = [];
  const log = { warn: (fields: object) => void logged.push(fields) };
  const count = createBacklogWatch({ queued: () => Promise.reject(new Error("gone")) }, timers, log);
  expect(await count()).toBeNull();
  expect(logged).toEqual([{ err: new Error("gone") }]);
});
