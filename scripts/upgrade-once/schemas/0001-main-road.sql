-- Tenant tables carry org_id first in every primary key, unique constraint and index: the same schema runs on one
-- primary, on monthly partitions (ids are time-ordered) and distributed by org_id. Ids are made by the application;
-- there are no sequences and no triggers. Documents that must come back byte for byte are `json` (text is kept).

-- One row for the whole instance.
create table instance (
  instance_id      text primary key check (instance_id = 'instance'),
  key_ever_created boolean not null            -- ends open mode for good
);
insert into instance values ('instance', false);

-- Not a tenant table: the way from a presented key to its organization, before any organization is known.
create table key_index (
  key_sha256 bytea primary key,
  org_id     text not null,
  key_id     text not null
);

create table organizations (
  org_id           text primary key,
  name             text not null,
  email            text,                       -- null: org_local, and organizations made on the command line without one
  description      text not null,
  plan_id          text not null,
  included_actions bigint,                     -- null: unlimited
  created_at       timestamptz not null
);

-- The one row of an organization that every commit locks. Under that lock the epochs, the audit sequence and the
-- usage counter are exact on any number of nodes: a single statement reads them at their latest version even where
-- its snapshot is older (EvalPlanQual), which no other table would give it.
create table org_heads (
  org_id         text primary key,
  auth_epoch     bigint not null,              -- raised by every change of keys
  policy_epoch   bigint not null,              -- raised by every change of policies, packs and membranes
  context_epoch  bigint not null,              -- raised by every change of stored context
  webhooks       integer not null,             -- active organization-wide webhooks; events are written only when > 0
  audit_seq      bigint not null,              -- seq of the newest audit row
  audit_root     bytea not null,               -- chain over all audit rows so far, see audit_heads
  hard_limit     bigint,                       -- live decisions a month; null: unlimited
  usage_period   text not null,                -- 'YYYY-MM', UTC
  usage_used     bigint not null,              -- live decisions in usage_period
  usage_met_by   integer                       -- intents in the submission that met the limit; null: quota.exceeded not sent in usage_period
) with (fillfactor = 50);

create table usage_periods (
  org_id text not null,
  period text not null,
  used   bigint not null,
  primary key (org_id, period)
);

create table api_keys (
  org_id       text not null,
  key_id       text not null,
  key_sha256   bytea not null,
  lineage_id   text not null,                  -- key_id of the first key in a chain of rotations: rate window, ownership
  name         text,
  environment  text not null check (environment in ('live', 'shadow', 'test')),
  scope        text not null check (scope in ('org', 'agent')),
  role         text not null check (role in ('admin', 'operator', 'reviewer', 'agent', 'auditor')),
  agent_id     text,                           -- set exactly for scope agent
  rate_limits  json,                           -- per-key agreement {category: requests per minute}; null: the instance's
  created_by   text,                           -- key_id or user_id; null: quickstart, command line, open mode
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  lifetime_seconds bigint not null,            -- what a rotation renews
  last_used_at timestamptz,                    -- to the minute
  revoked_at   timestamptz,
  rotated_from text,
  primary key (org_id, key_id),
  check ((scope = 'agent') = (agent_id is not null))
);

create table membranes (
  org_id           text not null,
  membrane_id      text not null,
  name             text not null,
  status           text not null check (status in ('draft', 'shadow', 'live')),
  is_default       boolean not null,
  default_verdict  text not null check (default_verdict in ('approve', 'escalate', 'block')),
  escalate_at      double precision,           -- risk threshold; null: score never escalates
  block_at         double precision,
  packs            json not null,              -- [name]
  action_catalogue json not null,              -- [{verb, type, data_classes}]
  facts_max_age    json not null,              -- {category: seconds}; absent category: the default
  escalation       json not null,              -- {timeout_seconds, on_timeout, reviewers, quorum}
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (org_id, membrane_id)
);
create unique index membranes_one_default on membranes (org_id) where is_default;

-- An intent and the decision on it: one row, because they are committed together and read together.
create table intents (
  org_id       text not null,
  intent_id    text not null,                  -- time-ordered: newest first = primary key backwards
  decision_id  text not null,
  membrane_id  text not null,
  agent_id     text not null,
  key_id       text,                           -- null: open mode
  lineage_id   text,
  mode         text not null check (mode in ('live', 'shadow', 'test')),
  verdict      text not null check (verdict in ('approve', 'approve_modified', 'escalate', 'block')),
  status       text not null check (status in ('final', 'pending')),
  escalation_id text,
  fingerprint  bytea not null,                 -- "the same action": SHA-256, see core/fingerprint
  intent       json not null,                  -- as submitted
  facts        json not null,                  -- as decided on, with source and as-of
  decision     json not null,                  -- the first answer; never changes
  resolution   json,                           -- what a ruling, time limit or cancellation changed in the answer; null until then
  created_at   timestamptz not null,
  primary key (org_id, intent_id)
) with (toast_tuple_target = 4096);            -- rows up to half a page stay whole: compressing 3 to 4 KB costs 5 to 9 µs of 40 a decision
create index intents_by_agent on intents (org_id, agent_id, intent_id);
create index intents_held on intents (org_id, verdict, intent_id) where verdict <> 'approve';

create table escalations (
  org_id        text not null,
  escalation_id text not null,
  intent_id     text not null,
  decision_id   text not null,
  agent_id      text not null,
  mode          text not null check (mode in ('live', 'test')),
  status        text not null check (status in ('pending', 'decided', 'timed_out', 'cancelled')),
  record        json not null,                 -- the escalation record of api §6, as of its last change
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  closed_at     timestamptz,
  primary key (org_id, escalation_id)
);
create index escalations_open on escalations (org_id, escalation_id) where status = 'pending';
create index escalations_due on escalations (expires_at) where status = 'pending';

-- Append-only. hash = SHA-256 over the canonical JSON of {at, actor, audit_id, data, intent_id, type}.
create table audit (
  org_id    text not null,
  seq       bigint not null,                   -- 1, 2, 3 … without a gap in each organization, in commit order
  audit_id  text not null,
  intent_id text,                              -- null: not about one intent (keys, membranes, context)
  type      text not null,
  actor     text not null,
  at        timestamptz not null,
  data      json not null,
  hash      bytea not null,
  primary key (org_id, seq)
);
create index audit_by_intent on audit (org_id, intent_id, seq) where intent_id is not null;

-- One row for each commit that wrote audit rows: root = SHA-256(previous root || hashes of its rows in seq order).
create table audit_heads (
  org_id   text not null,
  last_seq bigint not null,
  root     bytea not null,
  primary key (org_id, last_seq)
);

-- What webhooks are told. Written by the transaction that makes it true, only for organizations that have an active
-- webhook at that moment (a webhook gets no event older than itself, so nobody could ever receive the others).
create table events (
  org_id        text not null,
  event_id      text not null,
  event_type    text not null,
  intent_id     text,
  decision_id   text,
  escalation_id text,
  body          json not null,                 -- contract 2.5 without webhook_id
  created_at    timestamptz not null,
  dispatched_at timestamptz,
  primary key (org_id, event_id)
);
create index events_undispatched on events (created_at) where dispatched_at is null;

create table idempotency_keys (
  org_id          text not null,
  operation       text not null,
  idempotency_key text not null,
  request_sha256  bytea not null,
  intent_id       text,                        -- submissions: the answer is read from the intent
  response        json,                        -- other operations: {status, body}, sealed where it holds a secret
  created_at      timestamptz not null,
  primary key (org_id, operation, idempotency_key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create table observations (
  org_id         text not null,
  observation_id text not null,
  intent_id      text not null,
  status         text not null check (status in ('executed', 'failed', 'skipped')),
  detail         json,
  created_at     timestamptz not null,
  primary key (org_id, observation_id)
);
create index observations_by_intent on observations (org_id, intent_id, observation_id);

create table stored_context (
  org_id      text not null,
  scope       text not null check (scope in ('org', 'agent', 'target')),
  subject     text not null,                   -- '' | agent_id | canonical JSON [type, identifier]
  document    json not null,                   -- the context document as received
  received_at timestamptz not null,            -- as-of of every category that states none
  updated_by  text,
  primary key (org_id, scope, subject)
);

create table onboarding_intakes (
  intake_id  text primary key,
  org_id     text,                             -- null until a quickstart takes it up
  request    json not null,
  response   json not null,
  created_at timestamptz not null
);

-- Tenancy is enforced twice: every statement names org_id, and these policies hide every other organization's rows
-- from a transaction that did not say whose it is. '*' is the system scope (commit writer, workers, command line).
do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['organizations', 'org_heads', 'usage_periods', 'api_keys', 'membranes', 'intents', 'escalations',
    'audit', 'audit_heads', 'events', 'idempotency_keys', 'observations', 'stored_context'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
