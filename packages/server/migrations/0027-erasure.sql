-- Erasure, retention and legal holds (decision 0065).

-- leaf: the hashed text of an entry with erased documents. Null: the documents are there. kept: what remains of erased documents, with
-- `erased` (when and by whom). An erased row has a leaf, and neither documents nor salts nor a fingerprint, which is a hash without a salt.
alter table ledger add column leaf text, add column kept json;
alter table ledger alter column leaf set statistics 0, alter column kept set statistics 0;
-- All intents of one review hold the same action, so they are erased together.
create index ledger_of_review on ledger (org_id, escalation_id) where escalation_id is not null;

-- The leaf again. Of an erased entry, the commitments come from the stored leaf, and everything else from the columns. So a changed column
-- changes the hash.
create or replace function ledger_leaf(l ledger) returns text language sql stable as $$
  select case when l.type = 'decided' then
    '{"actor":' || to_json(l.actor) || ',"agent_id":' || to_json(l.agent_id) || ',"at":"' || s.at || '","data":"' || s.data
    || '","decision_id":"' || l.decision_id || '","escalation_id":' || coalesce('"' || l.escalation_id || '"', 'null')
    || ',"facts":"' || s.facts || '","intent":"' || s.intent || '","intent_id":"' || l.intent_id
    || '","lineage_id":' || coalesce('"' || l.lineage_id || '"', 'null') || ',"membrane_id":"' || l.membrane_id
    || '","mode":"' || l.mode || '","override_id":' || coalesce('"' || l.override_id || '"', 'null')
    || ',"type":"decided","v":1,"verdict":"' || l.verdict || '"}'
  else
    '{"actor":' || to_json(l.actor) || ',"at":"' || s.at || '","audit_id":"' || l.audit_id || '","data":"' || s.data
    || '","intent_id":' || coalesce('"' || l.intent_id || '"', 'null') || ',"type":"' || l.type || '","v":1}'
  end
  from (select
    to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
    coalesce(l.leaf::json ->> 'intent', encode(sha256(convert_to(encode(l.intent_salt, 'hex') || l.intent::text, 'UTF8')), 'hex')) as intent,
    coalesce(l.leaf::json ->> 'facts', encode(sha256(convert_to(encode(l.facts_salt, 'hex') || l.facts::text, 'UTF8')), 'hex')) as facts,
    coalesce(l.leaf::json ->> 'data', encode(sha256(convert_to(encode(l.data_salt, 'hex') || l.data::text, 'UTF8')), 'hex')) as data) s
$$;

-- The decisions again, with what remains of erased ones.
create or replace view intents with (security_invoker = true) as
  select l.org_id, l.seq, l.intent_id, l.decision_id, l.membrane_id, l.agent_id, l.actor, l.lineage_id, l.mode, l.verdict,
    case when e.status = 'pending' then 'pending' else 'final' end as status,
    l.escalation_id, l.override_id, l.fingerprint, coalesce(l.intent, l.kept -> 'intent') as intent,
    coalesce(l.facts, l.kept -> 'facts') as facts, coalesce(l.data, l.kept -> 'data') as decision, e.resolution, l.at as created_at,
    (select json_build_object(
        'status', coalesce(o.status, case
          when c.claimed_at > statement_timestamp() - interval '15 minutes' then 'claimed'
          when c.claimed_at is not null then 'unknown'
          when e.approval_revoked then 'revoked' else 'handed_on' end),
        'at', to_char(coalesce(o.at, c.claimed_at, e.approval_moved_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'actor', coalesce(o.actor, c.actor, e.approval_moved_by))
      from (values (1)) as one
      left join claims c on c.org_id = l.org_id and c.intent_id = l.intent_id
      left join lateral (
        select coalesce(r.data, r.kept -> 'data') ->> 'status' as status, r.at, r.actor from ledger r
        where r.org_id = l.org_id and r.intent_id = l.intent_id and r.type = 'observed' and r.seq > coalesce(c.seq, 0)
        order by (coalesce(r.data, r.kept -> 'data') ->> 'status') = 'skipped', r.seq desc limit 1) o on true
      where o.status is not null or c.claimed_at is not null or e.approval_revoked or e.approval_holder <> l.intent_id) as execution,
    l.kept -> 'erased' as erased
  from ledger l left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  where l.type = 'decided';

-- The audit trail again, with what remains of erased entries.
create or replace view audit with (security_invoker = true) as
  select l.org_id, r.seq, r.audit_id, l.intent_id, r.type, r.actor, l.at, r.data, l.hash,
    case when r.seq = l.seq then l.root end as root, l.entry, l.seq as entry_seq, l.type as entry_type, l.actor as entry_actor,
    l.escalation_id, l.override_id, ledger_leaf(l) as leaf, case when l.type <> 'decided' then l.data_salt end as salt,
    l.kept -> 'erased' as erased
  from ledger l cross join lateral (
    select l.seq, l.audit_id, l.type, l.actor, coalesce(l.data, l.kept -> 'data') as data where l.type <> 'decided'
    union all
    select l.seq - 1 - num_nonnulls(l.escalation_id, l.override_id), 'aud_' || right(l.intent_id, 26), 'submitted', l.actor,
      json_build_object('agent_id', l.agent_id, 'membrane_id', l.membrane_id, 'pipeline_mode', l.mode)
    where l.type = 'decided'
    union all
    select l.seq - num_nonnulls(l.escalation_id, l.override_id), 'aud_' || right(l.decision_id, 26), 'decided', 'system',
      json_strip_nulls(json_build_object('context_source', coalesce(l.facts, l.kept -> 'facts') -> 'not_pulled', 'decision_id', l.decision_id,
        'policies', (select coalesce(json_agg(reason -> 'policy'), '[]')
          from json_array_elements(coalesce(l.data, l.kept -> 'data') -> 'reasons') reason),
        'policy_set_sha256', coalesce(l.data, l.kept -> 'data') #> '{policy_set,sha256}',
        'risk_score', coalesce(l.data, l.kept -> 'data') -> 'risk_score',
        'shadow', coalesce(l.intent, l.kept -> 'intent') -> 'shadow', 'verdict', l.verdict))
    where l.type = 'decided'
    union all
    select l.seq - num_nonnulls(l.override_id), coalesce(coalesce(l.intent, l.kept -> 'intent') ->> 'rests', 'aud_' || right(l.escalation_id, 26)),
      case when coalesce(l.intent, l.kept -> 'intent') ->> 'rests' is null then 'escalated' when l.verdict = 'escalate' then 'joined'
        else 'resumed' end, 'system',
      json_build_object('decision_id', l.decision_id, 'escalation_id', l.escalation_id)
    where l.type = 'decided' and l.escalation_id is not null
    union all
    select l.seq, 'aud_' || right(l.override_id, 26), 'override_spent', 'system',
      json_build_object('decision_id', l.decision_id, 'override_id', l.override_id)
    where l.type = 'decided' and l.override_id is not null) r;

-- A text as it is inside of JSON.
create function json_inside(value text) returns text language sql immutable as $$
  select substr(to_json(value)::text, 2, length(to_json(value)::text) - 2)
$$;

-- Whether an entry is about a subject. Of a decision, the kinds name members of what was submitted. Other entries are about an intent, or
-- they contain the value.
create function ledger_about(l ledger, kind text, subject text) returns boolean language sql stable as $$
  select case kind
    when 'all' then true
    when 'intent' then l.intent_id = subject
    when 'agent' then l.type = 'decided' and l.agent_id = subject
    when 'person' then l.type = 'decided' and l.intent #>> '{submitted,agent,on_behalf_of}' = subject
    when 'session' then l.type = 'decided' and l.intent #>> '{submitted,agent,session_id}' = subject
    when 'target' then l.type = 'decided' and l.intent #>> '{submitted,action,target,identifier}' = subject
    when 'value' then strpos(coalesce(l.intent::text, '') || coalesce(l.facts::text, '') || coalesce(l.data::text, ''), json_inside(subject)) > 0
    else false end
$$;

-- One erasure: a job that goes through the ledger, then through deliveries. Each page of the job is one transaction.
create table erasures (
  org_id         text not null,
  erasure_id     text not null,
  kind           text not null check (kind in ('intent', 'agent', 'person', 'session', 'target', 'value')),
  subject_sealed text,                        -- null: the erasure is done, and nobody knows of whom it was
  subject_sha256 text not null,               -- of a salt, which only the caller gets, followed by the subject
  status         text not null check (status in ('running', 'done')),
  seq            bigint not null,             -- the ledger is read up to here
  to_seq         bigint not null,             -- the end of the ledger at the start
  delivery_id    text,                        -- deliveries are read up to here; null: the ledger comes first
  counts         json not null,               -- ErasureCounts of the contract
  requested_by   text not null,
  created_at     timestamptz not null,
  done_at        timestamptz,
  primary key (org_id, erasure_id)
);
create index erasures_running on erasures (org_id, erasure_id) where status = 'running';

-- What nobody may erase, neither by an erasure nor by its age.
create table legal_holds (
  org_id    text not null,
  hold_id   text not null,
  kind      text not null check (kind in ('all', 'intent', 'agent', 'person', 'session', 'target', 'value')),
  subject   text not null,                    -- '' for all
  reason    text not null,
  placed_by text not null,
  placed_at timestamptz not null,
  primary key (org_id, hold_id)
);

-- How long an organization keeps what. Null: for ever.
create table retention (
  org_id                 text primary key,
  content_days           integer check (content_days > 0),           -- what decisions were about
  failed_deliveries_days integer check (failed_deliveries_days > 0), -- the bodies of failed deliveries
  facts_days             integer check (facts_days > 0),             -- stored facts of agents and targets
  content_to             text not null default ''                    -- intents up to here are erased or on hold
);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['erasures', 'legal_holds', 'retention'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
