-- Every commit leaves an old version of its organization's head, and while any transaction still sees it (a dump of the database,
-- an export, somebody's forgotten session) it stays. By organization alone all of them are walked to find the newest, many
-- thousand after some minutes. By organization and sequence the newest is the last of the index. An organization has one head:
-- it is made with the organization.
alter table org_heads drop constraint org_heads_pkey, add constraint org_heads_pkey primary key (org_id, audit_seq);
