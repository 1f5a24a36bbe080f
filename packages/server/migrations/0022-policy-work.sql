-- Kept backtests. Rows go after their time, or when newer ones of the organization take their place (decision 0062).
create table backtests (
  org_id        text not null,
  backtest_id   text not null,
  created_at    timestamptz not null,
  created_by    text not null,
  expires_at    timestamptz not null,
  policy_sha256 text,                          -- the version that it tried alone on all traffic of some days; null: another candidate
  summary       json not null,                 -- what a list shows
  input         json not null,                 -- the request
  result        json not null,                 -- the answer, with fewer flips
  primary key (org_id, backtest_id)
);

-- Serves the deletion of expired backtests.
create index backtests_by_expiry on backtests (expires_at);

alter table backtests enable row level security;
alter table backtests force row level security;
create policy tenant on backtests using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
