-- Escalations are kept for ever, and most ended in one way: those that ended in another were found by reading all of them
-- (0.1 to 0.4 s among 33,000).
create index escalations_closed on escalations (org_id, mode, status, escalation_id) where status <> 'pending';
