-- Membranes that enforce their decisions for a share of the registered agents (decision 0054).

-- One row for each membrane with a plan. Changed only under the lock of the organization's head, except for the figures.
create table rollouts (
  org_id           text not null,
  membrane_id      text not null,
  salt             text not null,              -- decides which agents a share has
  stages           json not null,              -- [{share, decisions_min, hours_min}]
  stage            integer not null,           -- the present one; 1 is the first
  status           text not null check (status in ('running', 'stopped', 'arrived')),
  guard            json not null,
  advances_itself  boolean not null,
  breaches         json not null,
  requested_return json,                       -- {stage, reason, requested_by, requested_at}: waits for a second person
  counted_from     timestamptz,                -- when the stage began to count; null: the membrane was not live since
  counted_before   json,                       -- what the figures of that hour held before
  counts           json,                       -- of the last look: StageCounts of the core
  created_by       text not null,
  created_at       timestamptz not null,
  primary key (org_id, membrane_id)
);
create index rollouts_running on rollouts (org_id, membrane_id) where status = 'running';

alter table rollouts enable row level security;
alter table rollouts force row level security;
create policy tenant on rollouts using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
