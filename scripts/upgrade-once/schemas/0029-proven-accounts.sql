-- A domain belongs to whoever proves it by DNS. Claims from earlier have a day until their first check.
alter table sso_domains
  add column proven_at  timestamptz not null default now(),  -- newest check that found the record
  add column checked_at timestamptz not null default now();
create index sso_domains_by_check on sso_domains (checked_at);

-- Who has addresses in a domain, whatever the organization.
create index person_index_by_domain on person_index (substring(email from '[^@]*$'));
create index invitations_by_domain on invitations (lower(substring(email from '[^@]*$') collate "C"));

-- A link for a forgotten password that was asked for before a change of the password is never made.
alter table people add column password_changed_at timestamptz;
