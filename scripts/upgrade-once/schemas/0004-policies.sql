-- An organization's own policies. Packs come with the service and are no rows. A name is never given twice, not even after
-- its policy is retired: reasons and audit rows of years ago name policies by it.
create table policies (
  org_id         text not null,
  policy_id      text not null,
  name           text not null,                -- of the newest version
  status         text not null check (status in ('draft', 'shadow', 'live', 'retired')),
  version        integer not null,             -- newest
  active_version integer,                      -- in force; null: none
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  primary key (org_id, policy_id),
  unique (org_id, name),
  check ((active_version is not null) = (status in ('shadow', 'live')))
);

-- Only ever inserted: decisions name the version that they were made with.
create table policy_versions (
  org_id     text not null,
  policy_id  text not null,
  version    integer not null,
  sha256     text not null,                    -- hex, of document
  document   json not null,                    -- canonical JSON of a checked document
  created_by text not null,
  created_at timestamptz not null,
  primary key (org_id, policy_id, version)
);

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['policies', 'policy_versions'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
