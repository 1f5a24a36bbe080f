-- breaking: a program that does not know tokens would count facts as the agent says them that a token has to prove
-- Issuers whose tokens prove who an agent is (decision 0044).

-- Changed only under the lock of the organization's head, with its policy epoch.
create table token_issuers (
  org_id         text not null,
  issuer_id      text not null,
  issuer         text,                         -- `iss` of its tokens; null: they are recognised by the trust domain
  trust_domain   text,                         -- of the SPIFFE id in `sub`; null: they are recognised by `iss`
  jwks_url       text,                         -- null: the keys were pasted
  jwks           json,                         -- public keys; null: they are fetched
  audience       json not null,
  algorithms     json not null,
  claims         json not null,                -- facts of identity by name, and the claim of each
  leeway_seconds integer not null,
  created_at     timestamptz not null,         -- or last replaced
  primary key (org_id, issuer_id),
  unique (org_id, issuer),
  unique (org_id, trust_domain),
  check ((issuer is null) <> (trust_domain is null)),
  check ((jwks_url is null) <> (jwks is null))
);

-- Tokens that counted once, until they expire.
create table used_tokens (
  org_id       text not null,
  token_sha256 text not null,                  -- of issuer_id and `jti`
  used_by      text not null,                  -- hash of the request; its repetition under one Idempotency-Key may use the token again
  used_at      timestamptz not null,           -- by the database's clock
  expires_at   timestamptz not null,           -- until then the issuer's tokens with this `jti` would pass
  primary key (org_id, token_sha256)
);
create index used_tokens_by_expiry on used_tokens (expires_at);

alter table token_issuers enable row level security;
alter table token_issuers force row level security;
create policy tenant on token_issuers using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
alter table used_tokens enable row level security;
alter table used_tokens force row level security;
create policy tenant on used_tokens using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- {required, on_invalid, once}: what the membrane asks of the Agent-Token header.
alter table membranes add column agent_token json not null default '{"required":false,"on_invalid":"refuse","once":false}';
