-- breaking: a program that does not know bindings would let bound keys pass
-- What API keys are bound to, and what their admins hear of them (decision 0041).

alter table api_keys
  add column bindings json,                       -- {membrane_ids, agent_ids, source_cidrs, forbid_shadow}; null: unbound
  add column last_submitted_at timestamptz,       -- to the minute
  add column expiry_announced smallint;           -- days before the end at which admins got the last mail about it; null: none yet

-- Keys are kept for ever, and most of them are revoked.
create index api_keys_not_revoked on api_keys (org_id, key_id) where revoked_at is null;
create index api_keys_by_end on api_keys (expires_at) where revoked_at is null;
