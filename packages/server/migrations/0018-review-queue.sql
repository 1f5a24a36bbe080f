-- Sorting, taking and snoozing reviews (decision 0055).

-- What the queue is sorted by. Row-level security reads an index on a column, but not one on an expression over JSON.
create function review_text(record json, variadic path text[]) returns text language plpgsql immutable parallel safe as $$
begin
  return record #>> path;
exception
  -- A stored text with half a character must not prevent that its review ends.
  when invalid_text_representation or untranslatable_character then return null;
end $$;

alter table escalations
  add column amount_usd double precision generated always as (review_text(record, 'amount_usd')::double precision) stored,
  add column tool text not null generated always as (coalesce(review_text(record, 'action', 'verb'), '')) stored,
  add column rule text not null generated always as (coalesce(review_text(record, 'panels', '0', 'policy'), '')) stored,
  -- Who works on the review; null: nobody.
  add column taken_by text,
  add column taken_at timestamptz,
  add constraint escalations_taken check ((taken_by is null) = (taken_at is null));

create index escalations_by_amount on escalations (org_id, mode, amount_usd desc nulls last, escalation_id) where status = 'pending';
create index escalations_by_tool on escalations (org_id, mode, tool collate "C", escalation_id) where status = 'pending';
create index escalations_by_rule on escalations (org_id, mode, rule collate "C", escalation_id) where status = 'pending';
create index escalations_by_name on escalations (org_id, mode, agent_id collate "C", escalation_id) where status = 'pending';

-- Reviews that a person does not want to see for a while. A change of the review deletes its rows.
create table review_snoozes (
  org_id        text not null,
  escalation_id text not null,
  person        text not null,
  until         timestamptz not null,
  primary key (org_id, escalation_id, person)
);

alter table review_snoozes enable row level security;
alter table review_snoozes force row level security;
create policy tenant on review_snoozes using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
