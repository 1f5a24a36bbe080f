-- Where reviews are announced besides the console, and whose accounts there are linked (decision 0058).

-- settings: without secrets. secret_sealed: the tokens of the channel as JSON. push: the organization's key pair (VAPID).
create table channels (
  org_id        text not null,
  channel       text not null check (channel in ('slack', 'teams', 'push')),
  settings      json not null,
  secret_sealed text not null,
  updated_at    timestamptz not null,
  primary key (org_id, channel)
);

-- Votes from this account are votes of this person. Changed only under the lock of the organization's head.
create table chat_links (
  org_id       text not null,
  user_id      text not null,
  team_id      text not null,
  chat_user_id text not null,
  linked_at    timestamptz not null,
  primary key (org_id, user_id),
  unique (org_id, team_id, chat_user_id)
);

-- Messages about reviews in chats. A row is due while the message is not as the review is. It is deleted after the message shows the end.
create table review_cards (
  org_id        text not null,
  escalation_id text not null,
  channel       text not null check (channel in ('slack', 'teams')),
  message       json,                          -- where the message is; null: not posted yet
  changes       integer not null default 0,    -- of the review since the row was made
  attempts      integer not null default 0,    -- since the last success
  due_at        timestamptz,                   -- by the database's clock; while a node sends, the end of its lease; null: the message is current
  primary key (org_id, escalation_id, channel)
);
create index review_cards_due on review_cards (due_at) where due_at is not null;

-- Browsers of people that get push notices. subscription_sealed: {endpoint, keys} of the browser.
create table push_devices (
  org_id              text not null,
  device_id           text not null,
  user_id             text not null,
  name                text not null,
  endpoint_sha256     bytea not null,
  subscription_sealed text not null,
  created_at          timestamptz not null,
  primary key (org_id, device_id),
  unique (org_id, endpoint_sha256)
);
create index push_devices_of_person on push_devices (org_id, user_id);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['channels', 'chat_links', 'review_cards', 'push_devices'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;

-- Codes that link an account of a chat.
alter table person_tokens drop constraint person_tokens_kind_check;
alter table person_tokens add constraint person_tokens_kind_check
  check (kind in ('signup', 'password', 'invitation', 'passkey', 'sso', 'chat_link'));

-- daily: one mail a day lists what waits. digest_at: when the next one is due; null: with another rhythm, or without mails.
alter table people add column mail_rhythm text not null default 'at_once' check (mail_rhythm in ('at_once', 'daily'));
alter table people add column digest_hour integer not null default 7 check (digest_hour between 0 and 23); -- UTC
alter table people add column digest_at timestamptz;
create index people_digest on people (digest_at) where digest_at is not null;
