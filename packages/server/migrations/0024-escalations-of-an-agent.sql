-- Whoever reviews an action is shown what was decided on others of its agent: of one that is seldom held, the organization's
-- whole history of escalations was read each time. So it was for those of test mode.
create index escalations_by_agent on escalations (org_id, agent_id, escalation_id);
create index escalations_test on escalations (org_id, escalation_id) where mode = 'test';
