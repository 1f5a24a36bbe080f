-- People over time: who is absent and who votes in that person's place, and which rules too few people can approve (docs/reviews.md).

-- Row-level security is forced on these tables also for their owner.
select set_config('app.org', '*', true);

-- One absence for each person. It ends by itself: only the database's clock decides whether it holds. Changed under the lock of the
-- organization's head, because a vote depends on it.
create table absences (
  org_id     text not null,
  user_id    text not null,          -- who is absent
  delegate   text not null,          -- the user_id of the person who gets the mails, and who may vote where an admin said so
  by_admin   boolean not null,       -- an admin named the delegate, so the delegate may vote in place of the absent person
  named_by   text not null,          -- who wrote this: user_id, key_id or open_mode
  starts_at  timestamptz not null,
  ends_at    timestamptz not null check (ends_at > starts_at),
  primary key (org_id, user_id)
);
create index absences_of_delegate on absences (org_id, delegate);

alter table absences enable row level security;
alter table absences force row level security;
create policy tenant on absences using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');

-- When the worker has to look whether people can still approve what the rules hold: at once after a change of people, keys or rules, and
-- when the next key of a reviewer expires. Null: no look is due.
alter table organizations add column reviewers_due_at timestamptz;
create index organizations_reviewers_due on organizations (reviewers_due_at) where reviewers_due_at is not null;

-- The rules that too few people can approve, as admins were told: policy_id, or membrane_id for a membrane's own reviewers.
alter table organizations add column reviewers_gone text[] not null default '{}';

update organizations set reviewers_due_at = now();
