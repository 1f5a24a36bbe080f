-- Counters of policies: what earlier actions add up to, by organization, mode, name and key (decision 0047).

-- One key of one counter. `version` rises with each change of its entries, so a commit finds decisions that read older ones. Nodes also
-- read versions that they expect of decisions on their way. `last_id` tells such a version from one that another node's decision made.
create table counters (
  org_id   text not null,
  mode     text not null,
  name     text not null,                     -- count.<name> or after.<name>
  key_sha  bytea not null,                    -- the first 16 bytes of SHA-256 of `key`
  key      text not null,                     -- canonical JSON: an array of values
  agent_id text not null,                     -- of the first action
  version  bigint not null,
  last_id  text,                              -- the action whose decision added an entry last
  ends_at  timestamptz not null,              -- a full hour after its last entry stops counting, so that most updates change no index
  primary key (org_id, mode, name, key_sha)
) with (fillfactor = 70);
create index counters_by_end on counters (ends_at);

-- One action that counts in one key. A released action has no row.
create table counter_entries (
  org_id    text not null,
  mode      text not null,
  name      text not null,
  key_sha   bytea not null,
  at        timestamptz not null,             -- of the decision, or of the approval by people
  intent_id text not null,
  micros    bigint,                           -- millionths; null: no usable amount
  state     text not null,                    -- approve, approve_modified, pending, failed, failed_modified
  vals      json,                             -- hashes of values whose distinct ones are counted, by expression
  ends_at   timestamptz not null,
  primary key (org_id, mode, name, key_sha, at, intent_id)
);
create index counter_entries_of_intent on counter_entries (org_id, intent_id);
create index counter_entries_by_end on counter_entries using brin (ends_at);

-- counter_keys: rows in counters. counter_floor: the highest version of a deleted key. A new key begins above it, so that a version never names
-- two states of a key.
alter table org_heads add counter_keys bigint not null default 0, add counter_floor bigint not null default 0;

-- ANALYZE takes small samples of what grows with every action, as for the ledger.
do $$
declare
  each record;
begin
  for each in
    select attrelid::regclass as name, attname, atttypid = 'json'::regtype as document from pg_attribute
    where attrelid in ('counters'::regclass, 'counter_entries'::regclass) and attnum > 0 and not attisdropped
  loop
    execute format('alter table %s alter column %I set statistics %s', each.name, each.attname, case when each.document then 0 else 20 end);
  end loop;
end $$;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['counters', 'counter_entries'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;

-- How one decision reads or changes one key. n: the place of the decision in the call. version, last_id: those that it read. counts: 1: it
-- adds an entry. 0: it only read the key.
create type commit_count as (
  n bigint, name text, key_sha bytea, key text, version bigint, last_id text, counts bigint, intent_id text, agent_id text, at timestamptz,
  micros bigint, state text, vals json, ends_at timestamptz);

-- Returns the places of the decisions that read a version of a key which is no longer, or never was, the newest one. A decision may read
-- what an earlier decision of the same call adds.
create function stale_counts(this_org text, this_mode text, floor bigint, counts commit_count[], refused bigint[])
returns bigint[] language plpgsql as $$
declare
  stale bigint[] := '{}';
  found bigint[];
begin
  loop
    select array_agg(distinct each.n) into found from (
      select c.n, c.version, c.last_id, coalesce(k.version, floor) + coalesce(sum(c.counts) over earlier, 0) as actual,
        coalesce(substr(max(case when c.counts > 0 then lpad(c.n::text, 9, '0') || c.intent_id end) over earlier, 10), k.last_id) as actual_id
      from unnest(counts) c left join lateral (
        -- The limit makes the planner look each key up by the whole index, also while the statistics know no rows.
        select k.version, k.last_id from counters k
        where k.org_id = this_org and k.mode = this_mode and k.name = c.name and k.key_sha = c.key_sha limit 1) k on true
      where c.n <> all (refused) and c.n <> all (stale)
      window earlier as (partition by c.name, c.key_sha order by c.n rows between unbounded preceding and 1 preceding)) each
    where each.version <> each.actual or each.last_id is distinct from each.actual_id;
    if found is null then return stale; end if;
    stale := stale || found;
  end loop;
end $$;

-- Stores the decisions with their reviews and events, and returns those that it did not store.
-- reviews, notices: n is the place of the decision that they belong to.
-- counts: what the decisions read and add in counters.
-- keyed: some decision has an idempotency key or rests on an override.
-- again: an earlier call with these decisions may have been carried out although nobody heard its answer.
--
-- The function locks the organization's head first. Each later statement has a snapshot of its own, so it sees all that other nodes
-- have committed.
create function commit_decisions(
  this_org text, asked_auth bigint, asked_policy bigint, asked_context bigint, this_mode text, this_month text,
  decisions decision_row[], reviews commit_review[], notices commit_event[], counts commit_count[], keyed boolean,
  again boolean)
returns setof refused_decision language plpgsql as $$
declare
  size constant bigint := cardinality(decisions);
  head org_heads;
  refusal refused_decision;
  refused bigint[] := '{}';                   -- places of the decisions that are not stored
  wanted record;
  stored bigint;
  new_seq bigint;
  new_root bytea;
  new_keys bigint := 0;
begin
  perform set_config('app.org', this_org, true);
  -- By the newest end of the index, see org_heads.
  select * into head from org_heads h where h.org_id = this_org order by h.audit_seq desc limit 1 for update;

  if again then
    for wanted in
      select d.ordinality as line from unnest(decisions) with ordinality d
      where exists (
        select from ledger l where l.org_id = this_org and l.intent_id = d.intent_id and l.type = 'decided')
    loop
      refusal := row(wanted.line, 'committed', null, null, null, null, null, null, null, null, null);
      refused := refused || wanted.line;
      return next refusal;
    end loop;
  end if;

  if head.org_id is null or (asked_auth, asked_policy, asked_context) is distinct from
    (head.auth_epoch, head.policy_epoch, head.context_epoch)
  then
    return query select line, case when head.org_id is null then 'no_head' else 'stale' end, head.auth_epoch, head.policy_epoch,
        head.context_epoch, null, null, null, null::bigint, null::bigint, null::boolean
      from generate_series(1, size) line where line <> all (refused);
    return;
  end if;

  if keyed then
    for wanted in
      select d.ordinality as line, k.intent_id, k.request_sha256
      from unnest(decisions) with ordinality d cross join lateral (
        select k.intent_id, k.request_sha256 from idempotency_keys k
        where k.org_id = this_org and k.operation = d.operation and k.idempotency_key = d.idempotency_key limit 1) k
      where d.ordinality <> all (refused)
    loop
      refusal := row(wanted.line, 'duplicate', null, null, null, wanted.intent_id, encode(wanted.request_sha256, 'hex'),
        null, null, null, null);
      refused := refused || wanted.line;
      return next refusal;
    end loop;
  end if;

  -- A decision of an earlier month that comes late counts in the month that is open.
  if this_mode = 'live' and this_month > head.usage_period and cardinality(refused) < size then
    insert into usage_periods (org_id, period, used) values (this_org, head.usage_period, head.usage_used);
    update org_heads h set usage_period = this_month, usage_used = 0, usage_met_by = null
      where h.org_id = this_org and h.audit_seq = head.audit_seq returning * into head;
  end if;

  if keyed then
    -- An override is good for the first decision that rests on it. Whatever changes one holds the head's lock.
    for wanted in
      select d.ordinality as line from unnest(decisions) with ordinality d
      where d.override_id is not null and d.ordinality <> all (refused) and (
        not exists (select from overrides o where o.org_id = this_org and o.override_id = d.override_id
          and o.status = 'active' and o.expires_at > clock_timestamp())
        or exists (select from unnest(decisions) with ordinality e
          where e.override_id = d.override_id and e.ordinality < d.ordinality and e.ordinality <> all (refused)))
    loop
      refusal := row(wanted.line, 'override_spent', null, null, null, null, null, null, null, null, null);
      refused := refused || wanted.line;
      return next refusal;
    end loop;
  end if;

  if cardinality(counts) > 0 then
    foreach stored in array stale_counts(this_org, this_mode, head.counter_floor, counts, refused) loop
      refusal := row(stored, 'counted', null, null, null, null, null, null, null, null, null);
      refused := refused || stored;
      return next refusal;
    end loop;
  end if;

  if this_mode = 'live' and head.usage_used + size > head.hard_limit then
    for wanted in
      select line from generate_series(1, size) line where line <> all (refused)
      order by line offset greatest(head.hard_limit - head.usage_used, 0)
    loop
      refusal := row(wanted.line, 'quota_exceeded', null, null, null, null, null, head.usage_period,
        greatest(head.usage_used, head.hard_limit), head.hard_limit, head.usage_met_by is not null);
      refused := refused || wanted.line;
      return next refusal;
    end loop;
  end if;

  -- A decision that rests on one which the quota refused is decided again.
  if cardinality(counts) > 0 and this_mode = 'live' and head.usage_used + size > head.hard_limit then
    foreach stored in array stale_counts(this_org, this_mode, head.counter_floor, counts, refused) loop
      refusal := row(stored, 'counted', null, null, null, null, null, null, null, null, null);
      refused := refused || stored;
      return next refusal;
    end loop;
  end if;

  stored := size - cardinality(refused);
  if stored = 0 then return; end if;

  select head.audit_seq + sum(2 + num_nonnulls(d.escalation_id, d.override_id)),
      sha256(head.audit_root || string_agg(d.hash, ''::bytea order by d.ordinality))
    into new_seq, new_root
    from unnest(decisions) with ordinality d where d.ordinality <> all (refused);

  insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode, verdict,
      escalation_id, override_id, fingerprint, intent, facts, data, intent_salt, facts_salt, data_salt, hash, root)
    select this_org, head.audit_seq + sum(2 + num_nonnulls(d.escalation_id, d.override_id)) over this_and_before,
      head.entries - 1 + row_number() over this_and_before, d.at, 'decided', d.actor, d.intent_id, d.decision_id, d.membrane_id,
      d.agent_id, d.lineage_id, this_mode, d.verdict, d.escalation_id, d.override_id, d.fingerprint, d.intent, d.facts, d.decision,
      d.intent_salt, d.facts_salt, d.decision_salt, d.hash,
      case when row_number() over this_and_before = stored then new_root end
    from unnest(decisions) with ordinality d where d.ordinality <> all (refused)
    window this_and_before as (order by d.ordinality);

  if keyed then
    insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, intent_id, created_at)
      select this_org, d.operation, d.idempotency_key, d.request_sha256, d.intent_id, d.at
      from unnest(decisions) with ordinality d where d.operation is not null and d.ordinality <> all (refused);
    update overrides o set status = 'consumed', consumed_by = d.intent_id
      from unnest(decisions) with ordinality d
      where o.org_id = this_org and o.override_id = d.override_id and d.ordinality <> all (refused);
  end if;

  if cardinality(reviews) > 0 then
    -- A review ends by the database's time. Where the clock of the node is more than 5 s off, or the call came late, the deadline
    -- moves, so that the review has its whole time.
    insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, mode, status, record, created_at, expires_at,
        lineage_id, fingerprint, demands)
      select this_org, r.escalation_id, d.intent_id, d.decision_id, d.agent_id, r.mode, r.status,
        case when due.moved is null then r.record else (r.record::jsonb || jsonb_build_object('expires_at',
          to_char(due.moved at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::json end,
        d.at, coalesce(due.moved, r.expires_at), d.lineage_id, d.fingerprint, r.demands
      from unnest(reviews) r join unnest(decisions) with ordinality d on d.ordinality = r.n
      cross join lateral (select case when abs(extract(epoch from d.at - clock_timestamp())) > 5
        then clock_timestamp() + (r.expires_at - d.at) end as moved) due
      where r.n <> all (refused);
  end if;

  if cardinality(notices) > 0 and head.webhooks > 0 then
    insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, body, created_at, recorded_seq)
      select this_org, e.event_id, e.event_type, e.intent_id, e.decision_id, e.escalation_id, e.body, e.created_at, head.audit_seq
      from unnest(notices) e where e.n <> all (refused);
  end if;

  if cardinality(counts) > 0 then
    insert into counter_entries (org_id, mode, name, key_sha, at, intent_id, micros, state, vals, ends_at)
      select this_org, this_mode, c.name, c.key_sha, c.at, c.intent_id, c.micros, c.state, c.vals, c.ends_at
      from unnest(counts) c where c.counts > 0 and c.n <> all (refused);
    with written as (
      insert into counters as k (org_id, mode, name, key_sha, key, agent_id, version, last_id, ends_at)
        select this_org, this_mode, c.name, c.key_sha, min(c.key), min(c.agent_id), head.counter_floor + count(*),
          (array_agg(c.intent_id order by c.n desc))[1], date_trunc('hour', max(c.ends_at)) + interval '1 hour'
        from unnest(counts) c where c.counts > 0 and c.n <> all (refused)
        group by c.name, c.key_sha order by c.name, c.key_sha
      on conflict (org_id, mode, name, key_sha) do update
        set version = k.version + excluded.version - head.counter_floor, last_id = excluded.last_id, ends_at = greatest(k.ends_at, excluded.ends_at)
      returning xmax = 0 as is_new)
    select count(*) into new_keys from written where is_new;
  end if;

  update org_heads h set audit_seq = new_seq, audit_root = new_root, entries = h.entries + stored, counter_keys = h.counter_keys + new_keys,
      usage_used = h.usage_used + case when this_mode = 'live' then stored else 0 end
    where h.org_id = this_org and h.audit_seq = head.audit_seq;
end $$;

-- For nodes of the version before, which know no policies with counters.
create or replace function commit_decisions(
  this_org text, asked_auth bigint, asked_policy bigint, asked_context bigint, this_mode text, this_month text,
  decisions decision_row[], reviews commit_review[], notices commit_event[], keyed boolean, again boolean)
returns setof refused_decision language sql as $$
  select * from commit_decisions(this_org, asked_auth, asked_policy, asked_context, this_mode, this_month, decisions, reviews, notices,
    '{}'::commit_count[], keyed, again);
$$;

-- Changes what became of a counted action: another state and time, or null to release it. Raises the versions of its keys. The caller holds
-- the lock of the organization's head.
create function change_counted(this_org text, this_intent text, to_state text, to_at timestamptz) returns void language plpgsql as $$
declare
  e record;
begin
  perform set_config('app.org', this_org, true);
  if to_state in ('failed', 'executed') and not exists (select from counter_entries where org_id = this_org and intent_id = this_intent
    and state = any (case to_state when 'failed' then array['approve', 'approve_modified'] else array['failed', 'failed_modified'] end))
  then return; end if;
  for e in select * from counter_entries c where c.org_id = this_org and c.intent_id = this_intent order by c.name, c.key_sha loop
    update counters k set version = k.version + 1,
        ends_at = case when to_at is null then k.ends_at else greatest(k.ends_at, to_at + (e.ends_at - e.at) + interval '31 days') end
      where k.org_id = this_org and k.mode = e.mode and k.name = e.name and k.key_sha = e.key_sha;
  end loop;
  -- A trusted report that an approved action failed, or that it was carried out after all.
  if to_state in ('failed', 'executed') then
    update counter_entries set state = case
        when to_state = 'failed' then case state when 'approve' then 'failed' when 'approve_modified' then 'failed_modified' else state end
        else case state when 'failed' then 'approve' when 'failed_modified' then 'approve_modified' else state end end
      where org_id = this_org and intent_id = this_intent;
  elsif to_state is null then
    delete from counter_entries where org_id = this_org and intent_id = this_intent;
  else
    update counter_entries c set state = to_state, at = coalesce(to_at, c.at),
        ends_at = case when to_at is null then c.ends_at else to_at + (c.ends_at - c.at) + interval '31 days' end
      where c.org_id = this_org and c.intent_id = this_intent;
  end if;
end $$;

-- Gives the entries of one action to another one, which carries it out in its place. It counts, also if the first action was reported as
-- skipped.
create function move_counted(this_org text, from_intent text, to_intent text) returns void language plpgsql as $$
declare
  e record;
begin
  perform set_config('app.org', this_org, true);
  for e in select * from counter_entries c where c.org_id = this_org and c.intent_id = from_intent order by c.name, c.key_sha loop
    update counters k set version = k.version + 1
      where k.org_id = this_org and k.mode = e.mode and k.name = e.name and k.key_sha = e.key_sha;
  end loop;
  update counter_entries set intent_id = to_intent,
      state = case state when 'failed' then 'approve' when 'failed_modified' then 'approve_modified' else state end
    where org_id = this_org and intent_id = from_intent;
end $$;
