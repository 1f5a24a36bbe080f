import { expect, test } from "vitest";
import { unnamedTables } from "./unnamed-tables.ts";

const tables = {
  of_organizations: new Set(["people", "sessions"]),
  with_org_id: new Set(["people", "sessions", "session_index"]),
};

test.each([
  "select 1",
  "select * from session_index where token = $1",
  "select * from people where org_id = $1 and user_id = $2",
  "select (select max(s.at) from sessions s where s.org_id = p.org_id) from people p where p.org_id = $1::text",
  "select from people p join sessions s using (org_id) where p.org_id = $1",
  "select from people p join sessions s on (s.org_id, s.user_id) = (p.org_id, p.user_id) where s.org_id = $2",
  "select from people p cross join lateral (select * from sessions where org_id = p.org_id limit 1) s where p.org_id = $1",
  "insert into people (user_id, org_id) values ($1, $2), ($3, $2) on conflict do nothing",
  "insert into session_index (org_id) values ($1), ($2)",
  "insert into people select p.org_id, 1 from people p where p.org_id = $1",
  "update people p set seen = true from sessions s where s.org_id = $1 and p.org_id = s.org_id",
  "delete from people using sessions where people.org_id = sessions.org_id and sessions.org_id = $1",
  "with old as (select * from people where org_id = $1), gone as (delete from sessions s using old o where s.org_id = o.org_id returning s.*) select * from gone",
  "with late as (select clock_timestamp() as at) update people p set seen = l.at from late l where p.org_id = $1",
  "with recursive up (org_id, id) as (select org_id, 1 from people where org_id = $1 union all select p.org_id, 1 from people p join up on p.org_id = up.org_id) select * from up",
])("names its organization: %s", (text) => {
  expect(unnamedTables(text, tables)).toEqual([]);
});

test.each([
  ["select * from people", ["people"]],
  ["select * from people where org_id = $1 or user_id = $2", ["people"]],
  ["select * from people where org_id = any($1)", ["people"]],
  ["select * from people where org_id > $1", ["people"]],
  ["select exists (select from sessions) from people where org_id = $1", ["sessions"]],
  ["select from people p join session_index i on p.org_id = i.org_id where i.token = $1", ["people"]],
  ["insert into people (user_id, org_id) select $1, i.org_id from session_index i", ["people"]],
  ["insert into people (org_id) values ($1), ($2)", ["rows of two organizations"]],
  ["select from people p, sessions s where p.org_id = $1 and s.org_id = $2", ["rows of two organizations"]],
  ["update people set seen = true where user_id = $1", ["people"]],
  ["insert into people (user_id, org_id) values ('usr_1', 'org_1')", ["people"]],
  [
    "with gone as (delete from sessions where org_id = $1 returning token) delete from session_index i using gone g where i.token = g.token",
    ["session_index, which is copied everywhere and is written to beside rows of an organization"],
  ],
  [
    "with locked as (select ctid from people where org_id = $1) delete from people p using locked l where p.ctid = l.ctid",
    ["people"],
  ],
  [
    "update people set seen = coalesce(seen, clock_timestamp()) where org_id = $1",
    ["clock_timestamp(), which Citus refuses where rows are changed or deleted"],
  ],
  [
    "delete from people where org_id = $1 and user_id in (select user_id from sessions where org_id = $1 and at < clock_timestamp())",
    ["clock_timestamp(), which Citus refuses where rows are changed or deleted"],
  ],
  ["update people p set seen = true from unnest($1::text[]) as u(org_id) where p.org_id = u.org_id", ["people"]],
])("does not: %s", (text, found) => {
  expect(unnamedTables(text, tables)).toEqual(found);
});
