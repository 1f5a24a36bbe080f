-- Whether the ledger has the rows that decide, from the first on (decision 0066). False: made by a version that did not write them into
-- entries. The service then writes them down once.
alter table organizations add column state_recorded boolean not null default false;
create index organizations_unrecorded on organizations (org_id) where not state_recorded;

-- Returns the number of entries that it changed, so that the entry in the ledger can name the action. Otherwise as in 0014.
drop function change_counted(text, text, text, timestamptz, text);
create function change_counted(this_org text, this_intent text, to_state text, to_at timestamptz, to_intent text)
returns bigint language plpgsql as $$
declare
  number bigint;
  changes bigint := 0;
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
      changes := changes + 1;
      -- A calendar window may be up to 31 days longer than the one before.
      update counter_entries c set seq = number, changed = true, intent_id = to_intent, state = coalesce(e.state, c.state), at = coalesce(to_at, c.at),
          ends_at = case when to_at is null then c.ends_at else to_at + (c.ends_at - c.at) + interval '31 days' end
        where c.org_id = this_org and c.mode = e.mode and c.name = e.name and c.key_sha = e.key_sha and c.seq = e.seq;
    end if;
  end loop;
  update org_heads h set counter_changes = number
    where h.org_id = this_org and h.audit_seq = (select max(o.audit_seq) from org_heads o where o.org_id = this_org)
      and h.counter_changes <> number;
  return changes;
end $$;
