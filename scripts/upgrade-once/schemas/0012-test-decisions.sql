-- Decisions of test mode are few among all others, and lists ask for them: without an index PostgreSQL read every
-- organization's whole history for a page of them. Others pay nothing for it.
create index intents_test on intents (org_id, intent_id) where mode = 'test';
