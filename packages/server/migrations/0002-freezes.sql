-- Freezes: people stop the actions of an agent, of a key or of the organization (decision 0034).

-- What is frozen. Changed only under the lock of the organization's head, with its policy epoch.
create table freezes (
  org_id       text not null,
  kind         text not null check (kind in ('agent', 'key', 'organization')),
  subject      text not null,                  -- the folded agent_id, the lineage_id of the key, or ''
  name         text not null,                  -- the agent_id, key_id or org_id as it was given
  mode         text not null check (mode in ('block', 'escalate')),
  reason       text not null,
  frozen_by    text not null,                  -- the person
  frozen_at    timestamptz not null,           -- since when the mode is in force
  since_seq    bigint not null,                -- of the audit record of that moment: later reviews were opened under this mode
  closed_up_to text,                           -- open reviews up to this escalation_id are closed; null: none has to be closed
  unfreeze_requested_by text,                  -- the person who waits for a second one; null: nobody
  unfreeze_requested_at timestamptz,
  primary key (org_id, kind, subject),
  check ((unfreeze_requested_by is null) = (unfreeze_requested_at is null))
);
create index freezes_closing on freezes (org_id) where closed_up_to is not null;

alter table freezes enable row level security;
alter table freezes force row level security;
create policy tenant on freezes using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

alter table organizations add column unfreeze_needs_second_person boolean not null default false;
