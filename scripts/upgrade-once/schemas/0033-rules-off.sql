-- Rules of packs that a membrane leaves out.
alter table membranes add column rules_off json not null default '[]';
