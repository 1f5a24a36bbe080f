-- Who claimed an action, to carry it out. An action is claimed at most once (decision 0036). Written only under the lock of the
-- organization's head, with an entry of the ledger.
create table claims (
  org_id       text not null,
  intent_id    text not null,
  nonce_sha256 bytea not null,                 -- of what the claiming process made up for this claim
  actor        text not null,                  -- who claimed: key_id, user_id or open_mode
  lineage_id   text,                           -- the chain of rotations, or the user; null: open mode
  claimed_at   timestamptz not null,           -- by the database's clock
  seq          bigint not null,                -- of the claim's entry in the ledger: outcomes come after it
  primary key (org_id, intent_id)
);

alter table claims enable row level security;
alter table claims force row level security;
create policy tenant on claims using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- The decisions again, with what became of the action. execution is null while nobody has claimed or reported anything. A report that an action
-- was left out (skipped) never replaces one that it was begun. Without a report, the outcome of a claim is unknown after 15 minutes.
-- The time is that of the statement: a view with a volatile function is read as a whole before its rows are sorted and limited.
create or replace view intents with (security_invoker = true) as
  select l.org_id, l.seq, l.intent_id, l.decision_id, l.membrane_id, l.agent_id, l.actor, l.lineage_id, l.mode, l.verdict,
    case when e.status = 'pending' then 'pending' else 'final' end as status,
    l.escalation_id, l.override_id, l.fingerprint, l.intent, l.facts, l.data as decision, e.resolution, l.at as created_at,
    (select json_build_object(
        'status', coalesce(o.status, case when c.claimed_at > statement_timestamp() - interval '15 minutes' then 'claimed' else 'unknown' end),
        'at', to_char(coalesce(o.at, c.claimed_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'actor', coalesce(o.actor, c.actor))
      from (values (1)) as one
      left join claims c on c.org_id = l.org_id and c.intent_id = l.intent_id
      left join lateral (
        select r.data ->> 'status' as status, r.at, r.actor from ledger r
        where r.org_id = l.org_id and r.intent_id = l.intent_id and r.type = 'observed' and r.data is not null
          and r.seq > coalesce(c.seq, 0)
        order by (r.data ->> 'status') = 'skipped', r.seq desc limit 1) o on true
      where o.status is not null or c.claimed_at is not null) as execution
  from ledger l left join escalations e on e.org_id = l.org_id and e.escalation_id = l.escalation_id
  where l.type = 'decided';
