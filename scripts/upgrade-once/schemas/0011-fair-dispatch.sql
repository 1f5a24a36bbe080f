-- Events are dispatched in turns from organization to organization, so that a burst of one does not hold up another's single
-- event: what is left is found along the organization, as deliveries are along the receiver.
drop index events_undispatched;
create index events_undispatched on events (org_id, created_at) where dispatched_at is null;
