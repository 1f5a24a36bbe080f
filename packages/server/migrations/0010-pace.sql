-- The pace of reviewers, second tiers and reminders (decision 0039).

-- When a review was first shown to a person, and what that person said last. Rulings are written only under the lock of the
-- organization's head, so approvals of the last five minutes are counted exactly. All times are of the database's clock.
create table reviewer_times (
  org_id        text not null,
  escalation_id text not null,
  person        text not null,
  shown_at      timestamptz,                   -- null: it was never shown to this person
  ruled_at      timestamptz,                   -- null: this person has not ruled
  approved      boolean,                       -- the ruling approved; null: there is none
  fast          boolean not null default false, -- the approval was faster than the pace of a rule
  primary key (org_id, escalation_id, person),
  check ((ruled_at is null) = (approved is null))
);
create index reviewer_times_ruled on reviewer_times (org_id, ruled_at) where ruled_at is not null;
-- Rows are deleted by their age.
create index reviewer_times_by_age on reviewer_times (greatest(shown_at, ruled_at));

alter table reviewer_times enable row level security;
alter table reviewer_times force row level security;
create policy tenant on reviewer_times using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- When the next further mail about an open review is due; null: none, or its reviewers were not told yet.
alter table escalations add column notice_at timestamptz;
create index escalations_notice on escalations (notice_at) where status = 'pending' and notice_at is not null;

-- Whose figures of pace people see: those of each person, or of all reviewers together.
alter table organizations add column reviewer_figures text not null default 'person' check (reviewer_figures in ('person', 'team'));

-- Row-level security is forced on these tables also for their owner. Open reviews whose reviewers were told get their reminders, too.
select set_config('app.org', '*', true);
update escalations set notice_at = created_at + (expires_at - created_at) / 2
where status = 'pending' and mode = 'live' and notified and expires_at - created_at >= interval '10 minutes';
