-- Ways to sign in beside the password: passkeys, and an organization's own OpenID provider.

create table passkeys (
  org_id       text not null,
  passkey_id   text not null,                  -- the credential's id, base64url
  user_id      text not null,
  name         text not null,
  public_key   bytea not null,                 -- COSE
  counter      bigint not null,                -- uses as the authenticator counts them; 0 where it does not
  transports   json not null,                  -- [text]
  created_at   timestamptz not null,
  last_used_at timestamptz,
  primary key (org_id, passkey_id)
);
create index passkeys_of_person on passkeys (org_id, user_id);

-- Not a tenant table: the way from a presented passkey to its organization.
create table passkey_index (
  passkey_id text primary key,
  org_id     text not null,
  user_id    text not null
);

create table single_sign_on (
  org_id        text primary key,
  issuer        text not null,
  client_id     text not null,
  secret_sealed text not null,                 -- of the client
  email_domains json not null,                 -- [lower case]
  default_role  text not null check (default_role in ('admin', 'operator', 'reviewer', 'agent', 'auditor')),
  updated_at    timestamptz not null
);

-- Not a tenant table: the way from an address to the organizations that its domain may sign in to.
create table sso_domains (
  domain text not null,
  org_id text not null,
  primary key (domain, org_id)
);

-- Whom a provider has vouched for. A row outlives its person: who was removed does not come back by signing in.
create table sso_identities (
  org_id     text not null,
  issuer     text not null,
  subject    text not null,
  user_id    text not null,
  created_at timestamptz not null,
  primary key (org_id, issuer, subject)
);
create index sso_identities_of_person on sso_identities (org_id, user_id);

alter table person_tokens drop constraint person_tokens_kind_check;
alter table person_tokens add constraint person_tokens_kind_check
  check (kind in ('signup', 'password', 'invitation', 'passkey', 'sso'));

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['passkeys', 'single_sign_on', 'sso_identities'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
