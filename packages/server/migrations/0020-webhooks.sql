-- Webhooks: filters, own headers, alerts, the pause, and a rotation of the secret with an overlap.
alter table webhooks
  add column modes                text[],      -- null: events of every mode
  add column membrane_ids         text[],      -- null: events of every membrane
  add column header_names         text[] not null default '{}',
  add column headers_sealed       text,        -- {name: value}; null: none
  add column next_secret_sealed   text,        -- signs beside secret_sealed until overlap_ends_at, and alone afterwards
  add column overlap_ends_at      timestamptz,
  add column alert_after_failures integer,     -- null: no mail
  add column alerted_at           timestamptz, -- the mail about the failures since the last success
  add column pause_after_failures integer,     -- null: never
  add column paused_at            timestamptz, -- nothing is sent since then; deliveries are kept as failed
  add column failures_in_row      integer not null default 0; -- failed deliveries since the last success

-- Attempts by webhook and hour (UTC), counted by the transaction that settles them.
create table webhook_health (
  org_id          text not null,
  webhook_id      text not null,
  hour            timestamptz not null,
  attempts        bigint not null,
  accepted        bigint not null,
  durations       bigint[] not null,           -- attempts by duration; core/src/webhooks/health.ts has the bounds
  last_success_at timestamptz,
  last_failure_at timestamptz,
  primary key (org_id, webhook_id, hour)
);

-- Serves the deletion of old hours.
create index webhook_health_hours on webhook_health (hour);

alter table webhook_health enable row level security;
alter table webhook_health force row level security;
create policy tenant on webhook_health using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- Serves the list of a webhook's deliveries.
create index deliveries_of_webhook on deliveries (org_id, webhook_id, delivery_id);
