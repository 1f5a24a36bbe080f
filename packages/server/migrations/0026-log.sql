-- The log: for each organization a tree over the ledger's entries (RFC 9162), its tiles and its signed checkpoints (decision 0063).
create table logs (
  org_id     text primary key,
  origin     text not null,                    -- first line of each checkpoint, and name of each key; never changes
  size       bigint not null,                  -- entries under the newest checkpoint
  root       bytea not null,                   -- of the tree over them
  note       text not null,                    -- the newest checkpoint, signed by each key in use
  signed_at  timestamptz not null,
  seq        bigint not null,                  -- ledger.seq of the last entry under the checkpoint; 0: none
  tiled_seq  bigint not null,                  -- ledger.seq of the last entry in a full tile; 0: none
  problem    text,                             -- why no checkpoint is signed; null: none
  problem_at timestamptz
) with (fillfactor = 50);

-- Full tiles only, which never change. A partial tile of level 0 is read from the ledger, one of a higher level from the hashes of the
-- tiles below.
create table log_tiles (
  org_id text not null,
  level  smallint not null,
  tile   bigint not null,
  hash   bytea not null,                       -- over the whole tile: one hash of the level above
  hashes bytea,                                -- the 256 leaf hashes of a tile of level 0; null at higher levels
  primary key (org_id, level, tile)
);
-- Hashes cannot be compressed.
alter table log_tiles alter column hashes set storage external;

create table log_keys (
  org_id      text not null,
  key_id      text not null,                   -- of C2SP signed-note: 8 hex digits
  public_key  bytea not null,
  seed_sealed text not null,
  created_at  timestamptz not null,
  retired_at  timestamptz,                     -- signs until then, perhaps in the future; null: no end is set
  primary key (org_id, key_id)
);

-- Cosignatures of witnesses (C2SP tlog-witness).
create table log_witnesses (
  org_id        text not null,
  witness       text not null,                 -- its name
  size          bigint not null,               -- of the newest checkpoint that it cosigned; 0: none
  note          text,                          -- that checkpoint, with the log's signatures; null: none
  line          text,                          -- the cosignature; null: none
  cosigned_at   timestamptz,                   -- the time in the cosignature
  next_at       timestamptz not null,          -- nobody asks the witness before this time
  problem       text,                          -- why the last request failed; null: it did not
  failing_since timestamptz,
  primary key (org_id, witness)
);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['logs', 'log_tiles', 'log_keys', 'log_witnesses'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
