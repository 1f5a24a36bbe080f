-- Claims without a report. The list of unknown outcomes reads only these. A node of an older version does not note a report, so the
-- list also compares what the ledger has.
alter table claims add column unsettled boolean not null default true;

-- Row-level security is forced on these tables also for their owner.
select set_config('app.org', '*', true);

update claims c set unsettled = false where exists (
  select from ledger r where r.org_id = c.org_id and r.intent_id = c.intent_id and r.type = 'observed' and r.data is not null and r.seq > c.seq);

create index claims_unsettled on claims (org_id, intent_id) where unsettled;
