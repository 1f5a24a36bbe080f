-- The organization's own endpoint that is asked for facts before each decision. Changed under the lock of the
-- organization's head, with its context epoch. The secret is sealed with the master key for this organization; it is new
-- with every registration, so it also tells one registration from the next.
create table context_sources (
  org_id        text primary key,
  url           text not null,                 -- normalised; the only spelling that is ever dialled
  timeout_ms    integer not null,
  secret_sealed text not null,
  created_at    timestamptz not null
);

alter table context_sources enable row level security;
alter table context_sources force row level security;
create policy tenant on context_sources using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
