-- Resume: what people approved and nobody claimed goes to the next equal action (decision 0037). An approval belongs to a review. Several
-- intents may rest on one review: one that opened it, those that joined it, and those to which the approval was handed on. At most one of
-- them carries the action out.

-- Changed only under the lock of the organization's head.
alter table escalations
  add column approval_until timestamptz,       -- until when the people's approval lives; null: people did not approve it
  add column approval_holder text,             -- the only intent that may claim it; null: every intent of the review
  add column approval_spent boolean not null default false, -- claimed, or the action may have been carried out
  add column approval_revoked boolean not null default false,
  add column approval_moved_at timestamptz,    -- when it last got a holder, or was revoked
  add column approval_moved_by text;           -- the actor who did that
-- Approvals that may be handed on.
create index escalations_approved on escalations (org_id, fingerprint, mode, escalation_id)
  where approval_until is not null and not approval_spent and not approval_revoked;

-- Which nodes keep requests that wait for a review. A wait that a dead node left behind ends by its time.
create table review_waits (
  org_id        text not null,
  escalation_id text not null,
  node          text not null,                 -- a name that the process made up when it started
  until         timestamptz not null,          -- by the database's clock
  primary key (org_id, escalation_id, node)
);
create index review_waits_by_time on review_waits (until);

alter table review_waits enable row level security;
alter table review_waits force row level security;
create policy tenant on review_waits using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- The decisions again. An intent whose approval went to another one, or was revoked, says so in execution.
create or replace view intents with (security_invoker = true) as
  select l.org_id, l.seq, l.intent_id, l.decision_id, l.membrane_id, l.agent_id, l.actor, l.lineage_id, l.mode, l.verdict,
    case when e.status = 'pending' then 'pending' else 'final' end as status,
    l.escalation_id, l.override_id, l.fingerprint, l.intent, l.facts, l.data as decision, e.resolution, l.at as created_at,
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
        select r.data ->> 'status' as status, r.at, r.actor from ledger r
        where r.org_id = l.org_id and r.intent_id = l.intent_id and r.type = 'observed' and r.data is not null
          and r.seq > coalesce(c.seq, 0)
        order by (r.data ->> 'status') = 'skipped', r.seq desc limit 1) o on true
      where o.status is not null or c.claimed_at is not null or e.approval_revoked or e.approval_holder <> l.intent_id) as execution
  from ledger l left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  where l.type = 'decided';

-- The audit trail again. An intent that joined a review, or rests on an approval that was handed on, has no record 'escalated': the review
-- has that one already. 'rests' in its document is the id of its own record.
create or replace view audit with (security_invoker = true) as
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
        'policies', (select coalesce(json_agg(reason -> 'policy'), '[]') from json_array_elements(l.data -> 'reasons') reason),
        'policy_set_sha256', l.data #> '{policy_set,sha256}', 'risk_score', l.data -> 'risk_score',
        'shadow', l.intent -> 'shadow', 'verdict', l.verdict))
    where l.type = 'decided'
    union all
    select l.seq - num_nonnulls(l.override_id), coalesce(l.intent ->> 'rests', 'aud_' || right(l.escalation_id, 26)),
      case when l.intent ->> 'rests' is null then 'escalated' when l.verdict = 'escalate' then 'joined' else 'resumed' end, 'system',
      json_build_object('decision_id', l.decision_id, 'escalation_id', l.escalation_id)
    where l.type = 'decided' and l.escalation_id is not null
    union all
    select l.seq, 'aud_' || right(l.override_id, 26), 'override_spent', 'system',
      json_build_object('decision_id', l.decision_id, 'override_id', l.override_id)
    where l.type = 'decided' and l.override_id is not null) r;
