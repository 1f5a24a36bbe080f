-- Whose action waits, and which: what the caps on open reviews count, and what equal ones are grouped by. Null: opened before
-- this migration.
alter table escalations add column lineage_id text;
alter table escalations add column fingerprint bytea;
create index escalations_of_agent on escalations (org_id, agent_id, mode) where status = 'pending';
create index escalations_of_key on escalations (org_id, lineage_id, mode) where status = 'pending';
create index escalations_equal on escalations (org_id, fingerprint, mode, escalation_id) where status = 'pending';
