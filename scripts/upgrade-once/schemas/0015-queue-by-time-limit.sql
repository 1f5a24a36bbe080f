-- Reviewers see first what runs out first, however many wait: a page of that order is read along this index.
create index escalations_by_time_limit on escalations (org_id, mode, expires_at, escalation_id) where status = 'pending';
