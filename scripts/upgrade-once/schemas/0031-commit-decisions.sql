-- One call commits the decisions of one organization that were computed under the same epochs, in the same mode and month.
-- The arrays come in PostgreSQL's binary format (decision 0012).

create type decision_row as (
  intent_id text, decision_id text, membrane_id text, agent_id text, key_id text, lineage_id text, verdict text, status text,
  escalation_id text, fingerprint bytea, created_at timestamptz, operation text, idempotency_key text, request_sha256 bytea,
  override_id text, intent json, facts json, decision json);

-- A decision that was not stored. line: its place in the call, from 1. Which other members are set depends on the state.
create type refused_decision as (
  line bigint,
  state text,                                 -- committed (by an earlier call), no_head, stale, duplicate, override_spent, quota_exceeded
  auth_epoch bigint, policy_epoch bigint, context_epoch bigint,         -- stale: the epochs now
  first_intent_id text, first_request_sha256 text,                      -- duplicate: what the idempotency key stands for
  period text, used bigint, hard_limit bigint, announced boolean);      -- quota_exceeded; announced: quota.exceeded was sent

-- Stores the decisions with their audit entries, reviews and events, and returns those that it did not store.
-- entries, reviews, notices: n is the place of the decision that they belong to.
-- keyed: some decision has an idempotency key or rests on an override.
-- again: an earlier call with these decisions may have been carried out although nobody heard its answer.
--
-- The function locks the organization's head first. Each later statement has a snapshot of its own, so it sees all that other nodes
-- have committed.
create function commit_decisions(
  this_org text, asked_auth bigint, asked_policy bigint, asked_context bigint, this_mode text, this_month text,
  decisions decision_row[], entries commit_audit[], reviews commit_review[], notices commit_event[], keyed boolean, again boolean)
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
      where exists (select from intents i where i.org_id = this_org and i.intent_id = d.intent_id)
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

  insert into intents (org_id, intent_id, decision_id, membrane_id, agent_id, key_id, lineage_id, mode, verdict, status,
      escalation_id, fingerprint, intent, facts, decision, created_at)
    select this_org, d.intent_id, d.decision_id, d.membrane_id, d.agent_id, d.key_id, d.lineage_id, this_mode, d.verdict, d.status,
      d.escalation_id, d.fingerprint, d.intent, d.facts, d.decision, d.created_at
    from unnest(decisions) with ordinality d where d.ordinality <> all (refused);

  if keyed then
    insert into idempotency_keys (org_id, operation, idempotency_key, request_sha256, intent_id, created_at)
      select this_org, d.operation, d.idempotency_key, d.request_sha256, d.intent_id, d.created_at
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
        d.created_at, coalesce(due.moved, r.expires_at), d.lineage_id, d.fingerprint, r.demands
      from unnest(reviews) r join unnest(decisions) with ordinality d on d.ordinality = r.n
      cross join lateral (select case when abs(extract(epoch from d.created_at - clock_timestamp())) > 5
        then clock_timestamp() + (r.expires_at - d.created_at) end as moved) due
      where r.n <> all (refused);
  end if;

  if cardinality(notices) > 0 and head.webhooks > 0 then
    insert into events (org_id, event_id, event_type, intent_id, decision_id, escalation_id, body, created_at, recorded_seq)
      select this_org, e.event_id, e.event_type, e.intent_id, e.decision_id, e.escalation_id, e.body, e.created_at, head.audit_seq
      from unnest(notices) e where e.n <> all (refused);
  end if;

  with put as (
    insert into audit (org_id, seq, audit_id, intent_id, type, actor, at, data, hash)
    select this_org, head.audit_seq + row_number() over (order by e.ordinality), e.audit_id, (decisions[e.n]).intent_id, e.type,
      e.actor, e.at, e.data, e.hash
    from unnest(entries) with ordinality e where e.n <> all (refused)
    returning seq, hash)
  select max(seq), sha256(head.audit_root || string_agg(hash, ''::bytea order by seq)) into new_seq, new_root from put;

  update org_heads h set audit_seq = new_seq, audit_root = new_root,
      usage_used = head.usage_used + case when this_mode = 'live' then stored else 0 end
    where h.org_id = this_org and h.audit_seq = head.audit_seq;
  insert into audit_heads (org_id, last_seq, root) values (this_org, new_seq, new_root);
end $$;
