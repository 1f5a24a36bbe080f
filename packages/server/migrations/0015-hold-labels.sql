-- What people say about actions that would have been held in shadow.
create table hold_labels (
  org_id      text not null,
  intent_id   text not null,
  membrane_id text not null,
  is_right    boolean not null,
  labelled_by text not null,
  labelled_at timestamptz not null,
  primary key (org_id, intent_id)
);

alter table hold_labels enable row level security;
alter table hold_labels force row level security;
create policy tenant on hold_labels using (
  org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*');
