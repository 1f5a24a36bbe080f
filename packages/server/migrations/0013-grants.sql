-- Grants: a person allowed a limited number of similar actions in advance (decision 0045). Written only under the lock of the
-- organization's head, with an entry of the ledger. All times are of the database's clock.
create table grants (
  org_id      text not null,
  grant_id    text not null,
  intent_id   text not null,                  -- the held action that the person saw
  membrane_id text not null,
  mode        text not null check (mode in ('live', 'test')), -- used by actions of the same mode only
  lineage_id  text,                           -- only actions of this chain of keys are covered; null: open mode
  agent       text not null,                  -- folded
  verb        text not null,                  -- folded
  action_type text not null,                  -- after the membrane's catalogue
  scope       json not null,                  -- GrantScope
  rules       json not null,                  -- the rules that it covers, as they were (GrantRule of the core)
  times       integer not null check (times > 0),
  reason      text not null,
  granted_by  text not null,
  created_at  timestamptz not null,
  expires_at  timestamptz not null,
  revoked_by  text,
  revoked_at  timestamptz,                    -- null: nobody revoked it
  primary key (org_id, grant_id)
);
create index grants_usable on grants (org_id, agent, verb, expires_at) where revoked_at is null;

-- The actions that grants approved. use: from 1 to the grant's times.
create table grant_uses (
  org_id    text not null,
  grant_id  text not null,
  use       integer not null,
  intent_id text not null,
  at        timestamptz not null,
  primary key (org_id, grant_id, use)
);

alter table grants enable row level security;
alter table grants force row level security;
create policy tenant on grants using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
alter table grant_uses enable row level security;
alter table grant_uses force row level security;
create policy tenant on grant_uses using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
