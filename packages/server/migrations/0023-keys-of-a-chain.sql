-- Keys are kept for ever, and rotated daily they become many: those of one chain of rotations are found without the others.
create index api_keys_of_lineage on api_keys (org_id, lineage_id, key_id);
-- Intakes that a quickstart took up are kept, too: what goes of the others is looked for every minute.
create index onboarding_intakes_left on onboarding_intakes (created_at) where org_id is null;
