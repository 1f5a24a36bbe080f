-- breaking: what came before marks events as dispatched.
-- An event is on its way to the webhooks until it is dispatched; what is sent then stands in deliveries, and the event goes.
-- Its id begins with its time, so the oldest of an organization is found along the primary key.
delete from events where dispatched_at is not null;
alter table events drop column dispatched_at; -- with events_undispatched
