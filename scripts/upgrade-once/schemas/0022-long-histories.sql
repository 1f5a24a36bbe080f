-- What is kept for ever, or for long, is found without reading all of it.

-- Failed deliveries are kept for ever: those of one webhook are found without reading those of all others.
create index deliveries_failed_of_webhook on deliveries (org_id, webhook_id, delivery_id) where status = 'failed';

-- Keys are kept for ever, and rotated daily they become many: those of one chain of rotations are found without the others.
create index api_keys_of_lineage on api_keys (org_id, lineage_id, key_id);
-- Intakes that a quickstart took up are kept, too: what goes of the others is looked for every minute.
create index onboarding_intakes_left on onboarding_intakes (created_at) where org_id is null;

-- Whoever reviews an action is shown what was decided on others of its agent: of one that is seldom held, the organization's
-- whole history of escalations was read each time. So it was for those of test mode.
create index escalations_by_agent on escalations (org_id, agent_id, escalation_id);
create index escalations_test on escalations (org_id, escalation_id) where mode = 'test';
