-- What the commit writer sends: arrays of these, in PostgreSQL's binary format (decision 0012). A statement that needs other
-- fields gets types of its own, so that the programs before it can go on with these.
create type commit_row as (
  org_id text, auth_epoch bigint, policy_epoch bigint, context_epoch bigint, intent_id text, decision_id text, membrane_id text,
  agent_id text, key_id text, lineage_id text, mode text, verdict text, status text, escalation_id text, fingerprint bytea,
  created_at timestamptz, month text, operation text, idempotency_key text, request_sha256 bytea, override_id text,
  intent json, facts json, decision json);
create type commit_audit as (n bigint, audit_id text, type text, actor text, at timestamptz, hash bytea, data json);
create type commit_escalation as (n bigint, escalation_id text, mode text, status text, expires_at timestamptz, record json);
create type commit_event as (
  n bigint, event_id text, event_type text, intent_id text, decision_id text, escalation_id text, created_at timestamptz, body json);
