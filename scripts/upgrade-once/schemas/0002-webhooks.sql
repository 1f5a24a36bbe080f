-- Who is told. The secret is sealed with the master key for this organization and webhook.
create table webhooks (
  org_id        text not null,
  webhook_id    text not null,
  url           text not null,                 -- normalised; the only spelling that is ever dialled
  escalation_id text,                          -- null: organization-wide
  event_types   json not null,                 -- [name]
  secret_sealed text not null,
  active        boolean not null,
  description   text not null,
  created_at    timestamptz not null,
  -- By the database's clock under the lock of the organization's head, like events.recorded_at: so "registered before
  -- the event" is the order of commits, whatever the clocks of the nodes say.
  registered_at timestamptz not null default clock_timestamp(),
  primary key (org_id, webhook_id)
);

alter table events add column recorded_at timestamptz not null default clock_timestamp();

-- One event on its way to one webhook. due_at is moved to the end of the lease by the claim of an attempt, and to the next
-- attempt when it is settled; all three by the database's clock, so nodes need not agree on the time.
create table deliveries (
  org_id        text not null,
  delivery_id   text not null,
  webhook_id    text not null,
  event_id      text not null,
  event_type    text not null,
  intent_id     text,
  escalation_id text,
  body          text not null,                 -- what every attempt sends, byte for byte
  status        text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  attempts      integer not null check (attempts between 0 and 3), -- begun; it fences: only the newest one is settled
  outcomes      json not null,                 -- [{number, at, response_status, error, duration_ms}] of attempts that ended
  due_at        timestamptz not null,
  original_delivery_id text,                   -- a manual retry: the failed delivery at the start of the chain
  created_at    timestamptz not null,
  settled_at    timestamptz,
  primary key (org_id, delivery_id)
);
create index deliveries_due on deliveries (due_at) where status = 'pending';
create index deliveries_pending on deliveries (org_id, webhook_id, due_at) where status = 'pending';
create index deliveries_failed on deliveries (org_id, delivery_id) where status = 'failed';
create index deliveries_retries on deliveries (org_id, original_delivery_id) where original_delivery_id is not null;

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['webhooks', 'deliveries'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
