-- Streams of the audit trail to stores (decision 0069).

-- settings: of the target, without secrets. seq moves back when somebody sets the stream back.
create table streams (
  org_id        text not null,
  stream_id     text not null,
  name          text not null,
  format        text not null check (format in ('jsonl', 'ocsf')),
  target        text not null check (target in ('s3', 'file')),
  settings      json not null,
  secret_sealed text,                          -- of s3; null: a file
  active        boolean not null,
  created_at    timestamptz not null,
  created_by    text,                          -- key_id or user_id; null: open mode
  seq           bigint not null,               -- ledger.seq of the last entry that the store has; written only while turn is as before
  turn          bigint not null default 0,     -- raised by each lease and each change, so that an earlier node stores nothing more
  due_at        timestamptz not null,          -- by the database's clock; while a node writes, the end of its lease
  attempts      integer not null default 0,    -- failed since the last object
  problem       text,                          -- why the last attempt failed; null: it did not
  failing_since timestamptz,
  written_at    timestamptz,                   -- of the last object; null: none
  primary key (org_id, stream_id)
);
create index streams_due on streams (due_at) where active;

-- Where the objects of an hour end, as ledger.seq. An end is stored before its object is written, so that a second attempt writes the same
-- entries under the same name.
create table stream_hours (
  org_id    text not null,
  stream_id text not null,
  hour      timestamptz not null,
  ends      bigint[] not null,
  closed    boolean not null default false,    -- the checkpoint of the hour is written
  primary key (org_id, stream_id, hour)
);
create index stream_hours_open on stream_hours (org_id, stream_id, hour) where not closed;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['streams', 'stream_hours'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
