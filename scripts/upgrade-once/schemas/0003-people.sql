-- What the approvals so far would let through: {outcome, modifications, modified_content}. Null: nobody has approved yet.
alter table escalations add column ruling json;

-- A person's approval of one blocked action, good for its next retry, once. Changed only under the lock of the
-- organization's head; approved_at and expires_at are of the database's clock.
create table overrides (
  org_id       text not null,
  override_id  text not null,
  intent_id    text not null,                  -- the blocked one
  decision_id  text not null,
  agent_id     text not null,
  mode         text not null check (mode in ('live', 'test')), -- spent by retries of the same mode only
  fingerprint  bytea not null,                 -- "the same action": that of the blocked intent
  status       text not null check (status in ('pending_second', 'active', 'consumed', 'revoked')), -- expired is read off the clock
  reason       text not null,
  lifts        json not null,                  -- policy ids, and names for the membrane's own say
  policies_overridden json not null,           -- names, as the reasons gave them
  approved_by  text not null,                  -- who asked first
  seconded_by  text,                           -- the second person, where a policy asks for two
  created_at   timestamptz not null,
  approved_at  timestamptz,                    -- null: a second person is awaited
  expires_at   timestamptz,
  consumed_by  text,                           -- the intent that it approved
  primary key (org_id, override_id)
);
create index overrides_ready on overrides (org_id, fingerprint, override_id) where status = 'active';
create unique index overrides_by_intent on overrides (org_id, intent_id) where status = 'pending_second';
create index overrides_of_intent on overrides (org_id, intent_id, override_id);

alter table overrides enable row level security;
alter table overrides force row level security;
create policy tenant on overrides using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
