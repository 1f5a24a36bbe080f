-- The register of agents: who answers for them, and which agent is above which (decision 0043).

-- One row for each agent that acted or was registered. The reconciler of figures writes the times; people write everything else under the
-- lock of the organization's head, with its policy epoch.
create table agents (
  org_id        text not null,
  subject       text not null,                 -- the folded agent_id
  agent_id      text not null,                 -- as it was first written
  spellings     text[] not null,               -- as decisions have it: at most 20
  owner         text,
  purpose       text,
  parent        text,                          -- the subject of the agent above it; null: none is registered
  registered_by text,                          -- null: nobody registered it
  registered_at timestamptz,
  first_seen_at timestamptz,                   -- null: it has not acted
  last_seen_at  timestamptz,
  primary key (org_id, subject),
  check ((registered_by is null) = (registered_at is null)),
  check ((first_seen_at is null) = (last_seen_at is null))
);
create index agents_below on agents (org_id, parent) where parent is not null;

alter table agents enable row level security;
alter table agents force row level security;
create policy tenant on agents using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
