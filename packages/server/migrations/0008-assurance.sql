-- breaking: a program that does not know the role host would let such keys read everything, and would count facts that membranes do not
-- How sure facts are (decision 0040).

-- Row-level security is forced on these tables also for their owner.
select set_config('app.org', '*', true);

alter table api_keys drop constraint api_keys_role_check;
alter table api_keys add constraint api_keys_role_check
  check (role in ('admin', 'operator', 'reviewer', 'host', 'agent', 'auditor'));

-- {category or category.fact: assurance}, the least that counts. Membranes that exist keep what they have: every assurance counts.
alter table membranes add column facts_from json not null default '{}';

-- The subject in the spelling by which names are compared, so that facts of another spelling of an id are found.
alter table stored_context add column folded text;
update stored_context set folded = lower(normalize(subject, NFKC));
alter table stored_context alter column folded set not null;
create index stored_context_by_folded on stored_context (org_id, scope, folded);
