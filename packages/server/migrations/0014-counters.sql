-- Counters of policies: what earlier actions add up to, by organization, mode, name and key (decision 0047).

-- A key of a counter that has entries.
create table counters (
  org_id   text not null,
  mode     text not null,
  name     text not null,                     -- count.<name> or after.<name>
  key_sha  bytea not null,                    -- the first 16 bytes of SHA-256 of `key`
  key      text not null,                     -- canonical JSON: an array of values
  agent_id text not null,                     -- of the first action
  ends_at  timestamptz not null,              -- the earliest time at which no entry may be left
  primary key (org_id, mode, name, key_sha)
);
create index counters_by_end on counters (ends_at);

-- One action that counts in one key, or that counted (`released`). Each change of an entry gives it a new `seq`, so the newest entry of a key
-- names the state of the key: by its action, or by its number if it was changed. A decision gives the name that it read, and the commit compares.
create table counter_entries (
  org_id    text not null,
  mode      text not null,
  name      text not null,
  key_sha   bytea not null,
  seq       bigint not null,                  -- from org_heads.counter_changes
  changed   boolean not null default false,   -- false: as its decision added it
  at        timestamptz not null,             -- of the decision, or of the approval by people
  intent_id text not null,
  micros    bigint,                           -- millionths; null: no usable amount
  state     text not null,                    -- approve, approve_modified, pending, failed, failed_modified, released
  vals      json,                             -- hashes of values whose distinct ones are counted, by expression
  ends_at   timestamptz not null,
  primary key (org_id, mode, name, key_sha, seq)
);
create index counter_entries_of_intent on counter_entries (org_id, intent_id);
create index counter_entries_by_end on counter_entries using brin (ends_at);

-- counter_keys: rows in counters. counter_changes: the highest `seq` of an entry.
alter table org_heads add counter_keys bigint not null default 0, add counter_changes bigint not null default 0;

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

-- How one decision reads or changes one key. n: the place of the decision in the call. follows: the place of the decision of this call that
-- added to the key last, and that this one has read. 0: none. -1: there is one that this decision has not read. last_id: with 0, the name of the
-- newest entry that the decision read. state: null: it only read the key.
create type commit_count as (
  n bigint, follows bigint, name text, key_sha bytea, key text, last_id text, intent_id text, agent_id text, at timestamptz,
  micros bigint, state text, vals json, ends_at timestamptz);

-- Returns the places of the decisions that read an older state of a key, or that follow a decision that is not stored.
create function stale_counts(this_org text, this_mode text, counts commit_count[], refused bigint[])
returns bigint[] language plpgsql as $$
declare
  stale bigint[];
  found bigint[];
begin
  select array_agg(distinct c.n) into stale
    from unnest(counts) c
    left join lateral (
      select case when e.changed then e.seq::text else e.intent_id end as name from counter_entries e
      where c.follows = 0 and e.org_id = this_org and e.mode = this_mode and e.name = c.name and e.key_sha = c.key_sha
      order by e.seq desc limit 1) newest on true
    where c.n <> all (refused) and (c.follows < 0 or c.follows = any (refused) or c.follows = 0 and c.last_id is distinct from newest.name);
  if stale is null then return '{}'; end if;
  loop
    select array_agg(distinct c.n) into found from unnest(counts) c
      where c.n <> all (refused) and c.n <> all (stale) and c.follows = any (stale);
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
    foreach stored in array stale_counts(this_org, this_mode, counts, refused) loop
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
    foreach stored in array stale_counts(this_org, this_mode, counts, refused) loop
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
    insert into counter_entries (org_id, mode, name, key_sha, seq, at, intent_id, micros, state, vals, ends_at)
      select this_org, this_mode, c.name, c.key_sha, head.counter_changes + c.ordinality, c.at, c.intent_id, c.micros, c.state, c.vals, c.ends_at
      from unnest(counts) with ordinality c where c.state is not null and c.n <> all (refused);
    insert into counters (org_id, mode, name, key_sha, key, agent_id, ends_at)
      select this_org, this_mode, c.name, c.key_sha, c.key, c.agent_id, c.ends_at
      from unnest(counts) c where c.last_id is null and c.state is not null and c.n <> all (refused)
      order by c.name, c.key_sha
    on conflict (org_id, mode, name, key_sha) do nothing;
    get diagnostics new_keys = row_count;
  end if;

  update org_heads h set audit_seq = new_seq, audit_root = new_root, entries = h.entries + stored, counter_keys = h.counter_keys + new_keys,
      counter_changes = h.counter_changes + cardinality(counts),
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

-- What an entry becomes. Null: it stays. A null to_state releases it. `failed` and `executed` are trusted reports about an approved action.
create function counted_after(from_state text, to_state text) returns text language sql immutable as $$
  select case coalesce(to_state, 'released')
    when 'failed' then case from_state when 'approve' then 'failed' when 'approve_modified' then 'failed_modified' end
    when 'executed' then case from_state when 'failed' then 'approve' when 'failed_modified' then 'approve_modified' end
    else coalesce(to_state, 'released') end;
$$;

-- Changes what became of a counted action, or gives its entries to another one that carries it out in its place. to_at: null: the entries keep
-- their times. The caller holds the lock of the organization's head.
create function change_counted(this_org text, this_intent text, to_state text, to_at timestamptz, to_intent text)
returns void language plpgsql as $$
declare
  number bigint;
  e record;
begin
  perform set_config('app.org', this_org, true);
  select h.counter_changes into number from org_heads h where h.org_id = this_org order by h.audit_seq desc limit 1;
  for e in
    select c.mode, c.name, c.key_sha, c.seq, counted_after(c.state, to_state) as state from counter_entries c
    where c.org_id = this_org and c.intent_id = this_intent and c.state <> 'released' order by c.seq
  loop
    if e.state is not null or to_intent <> this_intent then
      number := number + 1;
      -- A calendar window may be up to 31 days longer than the one before.
      update counter_entries c set seq = number, changed = true, intent_id = to_intent, state = coalesce(e.state, c.state), at = coalesce(to_at, c.at),
          ends_at = case when to_at is null then c.ends_at else to_at + (c.ends_at - c.at) + interval '31 days' end
        where c.org_id = this_org and c.mode = e.mode and c.name = e.name and c.key_sha = e.key_sha and c.seq = e.seq;
    end if;
  end loop;
  update org_heads h set counter_changes = number
    where h.org_id = this_org and h.audit_seq = (select max(o.audit_seq) from org_heads o where o.org_id = this_org)
      and h.counter_changes <> number;
end $$;
