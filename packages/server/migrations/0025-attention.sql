-- What open reviews are counted, filtered and searched by, written with the record (decision 0055). PostgreSQL cannot run these
-- functions in parallel workers, because they catch errors.

-- Null: a text of the record has half a character. Such a review is listed, but it has no cause and no rule.
create function review_facets(record json) returns jsonb language plpgsql immutable parallel unsafe as $$
declare
  doc jsonb;
begin
  doc := record;
  return jsonb_build_object(
    'membrane_id', doc -> 'membrane_id',
    'missing_facts', coalesce(doc -> 'missing_facts', '[]'),
    'uncovered', case when doc ? 'uncovered' then doc #> '{action,verb}' end,
    'reviewers', coalesce(doc -> 'reviewers', '[]'),
    'rules', jsonb_path_query_array(doc, '$.panels[*].policy') || jsonb_path_query_array(doc, '$.panels[*].policy_id'),
    'waits_for', jsonb_path_query_array(doc, '$.panels[*] ? (@.missing != null).policy'),
    'waits_for_ids', jsonb_path_query_array(doc, '$.panels[*] ? (@.missing != null).policy_id'));
exception
  when invalid_text_representation or untranslatable_character then return null;
end $$;

-- What a person searches, in lower case.
create function review_words(agent_id text, record json) returns text language plpgsql immutable parallel unsafe as $$
declare
  doc jsonb;
begin
  doc := record;
  return lower(concat_ws(' ', agent_id, doc #>> '{action,verb}', doc #>> '{action,target,identifier}', doc #>> '{panels,0,policy}',
    doc #>> '{action,summary}', doc ->> 'reason'));
exception
  when invalid_text_representation or untranslatable_character then return lower(agent_id);
end $$;

alter function review_text parallel unsafe;

alter table escalations
  add column facets jsonb generated always as (review_facets(record)) stored,
  add column words text not null generated always as (review_words(agent_id, record)) stored;
