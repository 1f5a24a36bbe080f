-- People, their sessions, and the mails that go to them. Passwords are Argon2id, tokens SHA-256, seeds sealed.

create table people (
  org_id            text not null,
  user_id           text not null,
  email             text not null,                  -- as given; person_index holds the one it is told apart by
  role              text not null check (role in ('admin', 'operator', 'reviewer', 'agent', 'auditor')),
  password_hash     text,                           -- null: signs in without one
  totp_sealed       text,                           -- null: no second factor
  totp_confirmed_at timestamptz,                    -- null with a seed: set up, not switched on
  totp_last_step    bigint,                         -- newest step whose code was used: no code counts twice
  notify            boolean not null default true,  -- new escalations are told by mail
  created_at        timestamptz not null,
  last_seen_at      timestamptz,                    -- to the minute
  primary key (org_id, user_id)
);

-- Not a tenant table: the way from an address to its organization. One address is one person of one organization.
create table person_index (
  email   text primary key,                         -- lower case
  org_id  text not null,
  user_id text not null
);

create table recovery_codes (
  org_id      text not null,
  user_id     text not null,
  code_sha256 bytea not null,
  primary key (org_id, user_id, code_sha256)
);

create table sessions (
  org_id       text not null,
  session_id   text not null,
  user_id      text not null,
  token_sha256 bytea not null,
  mfa_pending  boolean not null,                    -- only the second factor may be given
  mfa_failures integer not null default 0,
  client_ip    text,
  user_agent   text,
  created_at   timestamptz not null,
  last_seen_at timestamptz not null,                -- to the minute
  expires_at   timestamptz not null,
  primary key (org_id, session_id)
);
create index sessions_of_person on sessions (org_id, user_id);

-- Not a tenant table: the way from a presented cookie to its organization.
create table session_index (
  token_sha256 bytea primary key,
  org_id       text not null,
  session_id   text not null
);

-- Not a tenant table: links that were mailed and challenges that were set, by the SHA-256 of their text; each serves once.
create table person_tokens (
  token_sha256 bytea primary key,
  kind         text not null check (kind in ('signup', 'password', 'invitation', 'passkey')),
  org_id       text,                                -- null: a signup, whose organization does not exist yet
  subject      json not null,
  expires_at   timestamptz not null
);
create index person_tokens_by_age on person_tokens (expires_at);

create table invitations (
  org_id        text not null,
  invitation_id text not null,
  email         text not null,
  role          text not null,
  token_sha256  bytea not null,
  invited_by    text not null,                      -- actor
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  primary key (org_id, invitation_id)
);

-- Not a tenant table: mails on their way. `sealed` holds addresses and links, and goes with the row once it was sent.
create table mails (
  mail_id    text primary key,
  kind       text not null,
  sealed     text not null,
  created_at timestamptz not null,
  due_at     timestamptz not null,
  attempts   integer not null default 0
);
create index mails_due on mails (due_at);

-- Which escalations the reviewers have been told of by mail.
alter table escalations add column notified boolean not null default false;
create index escalations_to_tell on escalations (org_id, escalation_id) where not notified and status = 'pending' and mode = 'live';

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['people', 'recovery_codes', 'sessions', 'invitations'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
