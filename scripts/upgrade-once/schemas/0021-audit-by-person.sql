-- What one person did is found without reading an organization's whole trail. What keys submit, and what the service itself
-- adds to it, is nearly all of it and pays nothing for this.
create index audit_by_actor on audit (org_id, actor, seq) where actor <> 'system' and actor not like 'key\_%';
