-- breaking: the tables of before are gone
-- One append-only table in place of intents, audit, audit_heads and observations: an entry is a change, and a decision is one entry.
-- Decision 0030 has the format.

create table ledger (
  org_id        text not null,
  seq           bigint not null,               -- of the last audit record that the entry stands for
  entry         bigint not null,               -- 0, 1, 2 … without a gap in each organization: the leaf's index in a tree
  at            timestamptz not null,
  type          text not null,                 -- what changed; 'decided': a decision, with the submission that it answers
  actor         text not null,                 -- who did it; of a decision, who submitted the intent
  audit_id      text,                          -- null: a decision, whose records have ids made from its own
  intent_id     text,                          -- null: not about one intent (keys, membranes, context)

  -- Of decisions only.
  decision_id   text,
  membrane_id   text,
  agent_id      text,
  lineage_id    text,                          -- null: open mode
  mode          text check (mode in ('live', 'shadow', 'test')),
  verdict       text check (verdict in ('approve', 'approve_modified', 'escalate', 'block')),
  escalation_id text,                          -- null: no review was opened
  override_id   text,                          -- null: it rests on no override
  fingerprint   bytea,                         -- "the same action": SHA-256, see core/fingerprint; null: approved without an override
  intent        json,                          -- as submitted
  facts         json,                          -- as decided on, with source and as-of

  data          json,                          -- what the entry says; of a decision, the first answer
  -- 16 random bytes for each document: the hash covers SHA-256 over salt and document. Who erases a document erases both.
  intent_salt   bytea,
  facts_salt    bytea,
  data_salt     bytea,
  hash          bytea not null,                -- of the leaf of RFC 9162, see ledger_leaf
  root          bytea,                         -- SHA-256 (root before, hashes of the commit's entries in order); null: the commit goes on
  primary key (org_id, seq),
  check ((type = 'decided') = (audit_id is null)),
  check (type <> 'decided' or num_nulls(intent_id, decision_id, membrane_id, agent_id, mode, verdict) = 0)
) with (toast_tuple_target = 4096);            -- rows up to half a page stay whole: compressing 3 to 4 KB costs 5 to 9 µs of 40 a decision

-- Newest first is by intent_id, which is time-ordered.
create unique index ledger_decisions on ledger (org_id, intent_id) where type = 'decided';
create index ledger_by_intent on ledger (org_id, intent_id, seq) where type <> 'decided' and intent_id is not null;
create index ledger_by_agent on ledger (org_id, agent_id, intent_id) where type = 'decided';
-- What is rare among all that was ever recorded, and lists ask for. What comes with every action pays nothing for these.
create index ledger_held on ledger (org_id, verdict, intent_id) where verdict <> 'approve';
create index ledger_test on ledger (org_id, intent_id) where mode = 'test';
create index ledger_shadow on ledger (org_id, intent_id) where mode = 'shadow';
create index ledger_with_more on ledger (org_id, seq) where escalation_id is not null or override_id is not null;
create index ledger_by_type on ledger (org_id, type, seq) where type not in ('decided', 'delivered', 'observed');
create index ledger_by_actor on ledger (org_id, actor, seq) where actor <> 'system' and actor not like 'key\_%';
-- How membranes and policies were set at each decision is told from these.
create index ledger_of_settings on ledger (org_id, seq) where type in ('membrane_created', 'membrane_changed', 'membrane_went_live',
  'membrane_returned_to_shadow', 'policy_activated', 'policy_retired');

-- ANALYZE takes a small sample, and none of the documents: nobody looks for rows by them.
do $$
declare
  each record;
begin
  for each in select attname, atttypid = 'json'::regtype as document from pg_attribute
    where attrelid = 'ledger'::regclass and attnum > 0 and not attisdropped
  loop
    execute format('alter table ledger alter column %I set statistics %s', each.attname, case when each.document then 0 else 20 end);
  end loop;
end $$;

alter table ledger enable row level security;
alter table ledger force row level security;
create policy tenant on ledger using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

alter table org_heads add column entries bigint not null default 0; -- of the ledger; the next one's index
alter table escalations add column resolution json; -- the members that the closed review replaces in the decision; null until then

-- What the hash of an entry is over: the leaf, canonical JSON (RFC 8785) of what is in plain columns and of the commitments to its
-- documents. Null where a document was erased.
create function ledger_leaf(l ledger) returns text language sql stable as $$
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
    encode(sha256(convert_to(encode(l.intent_salt, 'hex') || l.intent::text, 'UTF8')), 'hex') as intent,
    encode(sha256(convert_to(encode(l.facts_salt, 'hex') || l.facts::text, 'UTF8')), 'hex') as facts,
    encode(sha256(convert_to(encode(l.data_salt, 'hex') || l.data::text, 'UTF8')), 'hex') as data) s
$$;

create function ledger_hash(leaf text) returns bytea language sql immutable as $$
  select sha256('\x00'::bytea || convert_to(leaf, 'UTF8'))
$$;

-- ── The records of before ───────────────────────────────────────────────────────────────────────────────────────────

-- Facts as they are stored from now on: each origin once, in a list, and its place where it stood.
create function pg_temp.packed_facts(old json) returns json language plpgsql as $$
declare
  category record;
  field record;
  origins text[] := '{}';
  places text;
  packed text := '';
begin
  for category in select key, value from json_each(old) where key <> 'not_pulled' loop
    if array_position(origins, category.value ->> 'origin') is null then origins := origins || (category.value ->> 'origin'); end if;
    packed := packed || ',' || to_json(category.key) || ':{"values":' || (category.value -> 'values')
      || ',"origin":' || array_position(origins, category.value ->> 'origin') - 1;
    if json_typeof(category.value -> 'origins') = 'object' then
      places := null;
      for field in select key, value #>> '{}' as value from json_each(category.value -> 'origins') loop
        if array_position(origins, field.value) is null then origins := origins || field.value; end if;
        places := coalesce(places || ',', '') || to_json(field.key) || ':' || array_position(origins, field.value) - 1;
      end loop;
      packed := packed || ',"origins":{' || coalesce(places, '') || '}';
    end if;
    packed := packed || coalesce(',"inexact":' || (category.value -> 'inexact'), '') || '}';
  end loop;
  return ('{"origins":[' || array_to_string(origins, ',') || ']' || packed || coalesce(',"not_pulled":' || (old -> 'not_pulled'), '') || '}')::json;
end $$;

insert into ledger
  select (e.l).org_id, (e.l).seq, (e.l).entry, (e.l).at, (e.l).type, (e.l).actor, (e.l).audit_id, (e.l).intent_id, (e.l).decision_id,
    (e.l).membrane_id, (e.l).agent_id, (e.l).lineage_id, (e.l).mode, (e.l).verdict, (e.l).escalation_id, (e.l).override_id,
    (e.l).fingerprint, (e.l).intent, (e.l).facts, (e.l).data, (e.l).intent_salt, (e.l).facts_salt, (e.l).data_salt,
    ledger_hash(ledger_leaf(e.l)), null
  from (
    select row(org_id, seq, row_number() over (partition by org_id order by seq) - 1, at, type, actor, audit_id, intent_id,
      decision_id, membrane_id, agent_id, lineage_id, mode, verdict, escalation_id, override_id, fingerprint, intent, facts, data,
      case when intent is not null then uuid_send(gen_random_uuid()) end,
      case when facts is not null then uuid_send(gen_random_uuid()) end,
      uuid_send(gen_random_uuid()), ''::bytea, null)::ledger as l
    from (
      select i.org_id, told.seq, i.created_at as at, 'decided' as type, told.actor, null as audit_id, i.intent_id, i.decision_id,
        i.membrane_id, i.agent_id, i.lineage_id, i.mode, i.verdict, i.escalation_id, i.decision ->> 'human_override_id' as override_id,
        i.fingerprint,
        case when told.shadow is null then i.intent
          else (left(i.intent::text, -1) || ',"shadow":' || told.shadow || '}')::json end as intent,
        pg_temp.packed_facts(i.facts) as facts, i.decision as data
      from intents i cross join lateral (
        select max(a.seq) as seq, max(a.actor) filter (where a.type = 'submitted') as actor,
          max((a.data -> 'shadow')::text) filter (where a.type = 'decided') as shadow
        from audit a where a.org_id = i.org_id and a.intent_id = i.intent_id
          and a.type in ('submitted', 'decided', 'escalated', 'override_spent')) told
      union all
      select a.org_id, a.seq, a.at, a.type, a.actor, a.audit_id, a.intent_id, null, null, null, null, null, null, null, null, null,
        null, null, a.data
      from audit a where a.type not in ('submitted', 'decided', 'escalated', 'override_spent')) old
    offset 0) e;

do $$
declare
  head record;
  piece record;
  new_root bytea;
  counted bigint;
begin
  for head in select org_id, audit_seq from org_heads loop
    new_root := decode(repeat('00', 32), 'hex');
    counted := 0;
    for piece in
      select max(l.seq) as seq, count(*) as entries, string_agg(l.hash, ''::bytea order by l.seq) as hashes
      from ledger l where l.org_id = head.org_id group by l.entry / 10000 order by 1
    loop
      new_root := sha256(new_root || piece.hashes);
      counted := counted + piece.entries;
      update ledger l set root = new_root where l.org_id = head.org_id and l.seq = piece.seq;
    end loop;
    if (select coalesce(sum(case when l.type = 'decided' then 2 + num_nonnulls(l.escalation_id, l.override_id) else 1 end), 0)
        from ledger l where l.org_id = head.org_id) <> head.audit_seq
    then
      raise exception 'the audit trail of % is not whole: audit verify of the version before tells where', head.org_id;
    end if;
    update org_heads h set entries = counted, audit_root = new_root where h.org_id = head.org_id;
  end loop;
end $$;

update escalations e set resolution = i.resolution
  from intents i where i.org_id = e.org_id and i.intent_id = e.intent_id and i.resolution is not null;

drop function pg_temp.packed_facts;
drop function commit_decisions;
drop type decision_row, refused_decision, commit_audit, commit_row, commit_escalation;
drop table intents, audit, audit_heads, observations;

-- ── What is read ────────────────────────────────────────────────────────────────────────────────────────────────────

-- Intents with the decisions on them. A decision is pending while its review is.
create view intents with (security_invoker = true) as
  select l.org_id, l.seq, l.intent_id, l.decision_id, l.membrane_id, l.agent_id, l.actor, l.lineage_id, l.mode, l.verdict,
    case when e.status = 'pending' then 'pending' else 'final' end as status,
    l.escalation_id, l.override_id, l.fingerprint, l.intent, l.facts, l.data as decision, e.resolution, l.at as created_at
  from ledger l left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  where l.type = 'decided';

-- The audit trail. A decision stands for two records or three: submitted, decided, and escalated or override_spent.
-- entry_seq, entry_type, entry_actor: of the entry, for conditions that indexes serve.
create view audit with (security_invoker = true) as
  select l.org_id, r.seq, r.audit_id, l.intent_id, r.type, r.actor, l.at, r.data, l.hash,
    case when r.seq = l.seq then l.root end as root, l.entry, l.seq as entry_seq, l.type as entry_type, l.actor as entry_actor,
    l.escalation_id, l.override_id, ledger_leaf(l) as leaf, case when l.type <> 'decided' then l.data_salt end as salt
  from ledger l cross join lateral (
    select l.seq, l.audit_id, l.type, l.actor, l.data where l.type <> 'decided'
    union all
    select l.seq - 1 - num_nonnulls(l.escalation_id, l.override_id), 'aud_' || right(l.intent_id, 26), 'submitted', l.actor,
      json_build_object('agent_id', l.agent_id, 'membrane_id', l.membrane_id, 'pipeline_mode', l.mode)
    where l.type = 'decided'
    union all
    select l.seq - num_nonnulls(l.escalation_id, l.override_id), 'aud_' || right(l.decision_id, 26), 'decided', 'system',
      json_strip_nulls(json_build_object('context_source', l.facts -> 'not_pulled', 'decision_id', l.decision_id,
        'policies', coalesce((select json_agg(reason -> 'policy') from json_array_elements(l.data -> 'reasons') reason), '[]'),
        'policy_set_sha256', l.data #> '{policy_set,sha256}', 'risk_score', l.data -> 'risk_score',
        'shadow', l.intent -> 'shadow', 'verdict', l.verdict))
    where l.type = 'decided'
    union all
    select l.seq - num_nonnulls(l.override_id), 'aud_' || right(l.escalation_id, 26), 'escalated', 'system',
      json_build_object('decision_id', l.decision_id, 'escalation_id', l.escalation_id)
    where l.type = 'decided' and l.escalation_id is not null
    union all
    select l.seq, 'aud_' || right(l.override_id, 26), 'override_spent', 'system',
      json_build_object('decision_id', l.decision_id, 'override_id', l.override_id)
    where l.type = 'decided' and l.override_id is not null) r;

-- ── The commit of decisions ─────────────────────────────────────────────────────────────────────────────────────────

-- One call commits the decisions of one organization that were computed under the same epochs, in the same mode and month.
-- The arrays come in PostgreSQL's binary format (decision 0012).

create type decision_row as (
  intent_id text, decision_id text, membrane_id text, agent_id text, actor text, lineage_id text, verdict text, escalation_id text,
  override_id text, fingerprint bytea, at timestamptz, operation text, idempotency_key text, request_sha256 bytea,
  intent json, facts json, decision json, intent_salt bytea, facts_salt bytea, decision_salt bytea, hash bytea);

-- A decision that was not stored. line: its place in the call, from 1. Which other members are set depends on the state.
create type refused_decision as (
  line bigint,
  state text,                                 -- committed (by an earlier call), no_head, stale, duplicate, override_spent, quota_exceeded
  auth_epoch bigint, policy_epoch bigint, context_epoch bigint,         -- stale: the epochs now
  first_intent_id text, first_request_sha256 text,                      -- duplicate: what the idempotency key stands for
  period text, used bigint, hard_limit bigint, announced boolean);      -- quota_exceeded; announced: quota.exceeded was sent

-- Stores the decisions with their reviews and events, and returns those that it did not store.
-- reviews, notices: n is the place of the decision that they belong to.
-- keyed: some decision has an idempotency key or rests on an override.
-- again: an earlier call with these decisions may have been carried out although nobody heard its answer.
--
-- The function locks the organization's head first. Each later statement has a snapshot of its own, so it sees all that other nodes
-- have committed.
create function commit_decisions(
  this_org text, asked_auth bigint, asked_policy bigint, asked_context bigint, this_mode text, this_month text,
  decisions decision_row[], reviews commit_review[], notices commit_event[], keyed boolean, again boolean)
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
begin
  perform set_config('app.org', this_org, true);
  -- By the newest end of the index, see migration 0023.
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

  update org_heads h set audit_seq = new_seq, audit_root = new_root, entries = h.entries + stored,
      usage_used = h.usage_used + case when this_mode = 'live' then stored else 0 end
    where h.org_id = this_org and h.audit_seq = head.audit_seq;
end $$;
