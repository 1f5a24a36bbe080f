-- Operators reset a key of a counter, or grant it more (decision 0047).

-- A grant is an entry with the state `granted` and amounts below zero. Its intent_id is the id of its audit record.
alter table counter_entries add column actions bigint; -- of a grant: minus the number of further actions; null: an action, which counts 1
-- requested: an adjustment that waits for a second person (CounterRequest of the contract). agent_id: null: an adjustment began the key.
alter table counters add column requested json, alter column agent_id drop not null;

-- ANALYZE takes small samples of these tables, as for the columns of 0014.
alter table counter_entries alter column actions set statistics 20;
alter table counters alter column requested set statistics 0;
