-- When operators were last mailed that counters have no room. Null: never.
alter table org_heads add counters_told_at timestamptz;
