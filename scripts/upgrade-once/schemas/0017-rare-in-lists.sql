-- What is rare among all that was ever recorded, and lists ask for: without an index PostgreSQL read an organization's whole
-- trail to show who was made admin, and its whole history to show what was decided in shadow before it went live. What comes
-- with every action pays nothing for it.
create index audit_by_type on audit (org_id, type, seq) where type not in ('submitted', 'decided', 'delivered', 'observed');
create index intents_shadow on intents (org_id, intent_id) where mode = 'shadow';
