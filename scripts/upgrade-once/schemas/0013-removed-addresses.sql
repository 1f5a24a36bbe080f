-- Whom an organization has removed. A provider that vouches for the address does not bring them back; an invitation does.
create table removed_addresses (
  org_id     text not null,
  email      text not null,                    -- as in person_index: A-Z in lower case
  removed_at timestamptz not null,
  primary key (org_id, email)
);

alter table removed_addresses enable row level security;
alter table removed_addresses force row level security;
create policy tenant on removed_addresses using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- Whoever was removed before this table was there stands in the audit trail.
with removed as materialized (
  select org_id, lower((data ->> 'email') collate "C") as email, at from audit where type = 'user_removed'
)
insert into removed_addresses (org_id, email, removed_at)
select r.org_id, r.email, max(r.at) from removed r
where r.email is not null
  and not exists (select from person_index i where i.org_id = r.org_id and i.email = r.email)
group by r.org_id, r.email;
