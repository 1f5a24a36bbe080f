-- Going live and returning to shadow with more than one look (decision 0053).

-- The move that waits for a second person: {to, reason, requested_by, requested_at}. A change of the membrane ends it.
alter table membranes add column requested_move json;

alter table organizations add column go_live_needs_ready boolean not null default false;
alter table organizations add column go_live_needs_name boolean not null default false;
alter table organizations add column go_live_needs_second_person boolean not null default false;
-- The person who asked to switch the second person off; null: nobody.
alter table organizations add column go_live_alone_requested_by text;
alter table organizations add column go_live_alone_requested_at timestamptz;
alter table organizations add check ((go_live_alone_requested_by is null) = (go_live_alone_requested_at is null));
