-- Whether a webhook was registered before an event is told by their places in the organization's sequence, which both have under
-- the lock of its head, and no longer by times: an event of a clock that was set back for a moment stood before the registration
-- of every webhook, and none heard of it. Null, and of events of the time before: every webhook hears of it.
-- The columns of times (0002) stay for nodes of the release before, which read them.
alter table events add column recorded_seq bigint;
alter table webhooks add column registered_seq bigint not null default 0;
