-- Who must approve a held action for which rule, how many of them, and whose approvals count (`CountedDemand` of the core).
-- A review of before has one demand, as its record shows it.
alter table escalations add column demands json;
update escalations set demands = json_build_array(json_build_object(
  'policy', 'membrane.escalation', 'reviewers', record -> 'reviewers', 'quorum', record -> 'quorum' -> 'required',
  'approved_by', coalesce((
    select json_agg(vote -> 'reviewer') from json_array_elements(record -> 'votes') as vote where vote ->> 'outcome' <> 'block'),
    '[]'::json)));
alter table escalations alter column demands set not null;
create type commit_review as (
  n bigint, escalation_id text, mode text, status text, expires_at timestamptz, record json, demands json);
