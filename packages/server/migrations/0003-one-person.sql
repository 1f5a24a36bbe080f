-- breaking: a program that does not know persons would make keys without one
-- Who is one person: all keys that one key or one account made, at any remove, are one person. Until the second person comes, an
-- organization is in solo mode, see docs/reviews.md.

-- Row-level security is forced on these tables also for their owner.
select set_config('app.org', '*', true);

-- The person behind a key: a user_id; the first key of the chain of makers, by its lineage_id; `command_line` for keys made there or in open
-- mode; or `person:<name>`, as the command line named one.
alter table api_keys add column person text;

with recursive persons (org_id, key_id, person) as (
  select k.org_id, k.key_id, case when k.created_by is not null then k.created_by when k.name = 'quickstart' then k.lineage_id else 'command_line' end
  from api_keys k
  where not exists (select from api_keys m where m.org_id = k.org_id and m.key_id = k.created_by)
  union all
  select k.org_id, k.key_id, p.person from persons p join api_keys k on k.org_id = p.org_id and k.created_by = p.key_id
)
update api_keys k set person = p.person from persons p where p.org_id = k.org_id and p.key_id = k.key_id;

alter table api_keys alter column person set not null;
create index api_keys_of_person on api_keys (org_id, person);

-- When the second person came; null: the organization is in solo mode. It never goes back to null.
alter table organizations add column solo_ended_at timestamptz;

update organizations o set solo_ended_at = now() where (
  select count(*) from (
    select user_id from people p where p.org_id = o.org_id
    union select person from api_keys k where k.org_id = o.org_id
    union select email from removed_addresses r where r.org_id = o.org_id) persons) > 1;
