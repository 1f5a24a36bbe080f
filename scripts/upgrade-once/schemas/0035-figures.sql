-- Figures: how many decisions an organization made, counted by hour and by day. A reconciler keeps them, outside of the commit
-- (decision 0032). They can be counted again from the decisions at any time.

-- One counted thing of one hour or day (UTC).
--   kind            item                                     count                                            held
--   verdict         the verdict                              decisions                                        of them, blocked or escalated
--   risk            the risk score in steps of 0.1: 0 to 9   decisions                                        as above
--   agent           agent_id                                 decisions                                        as above
--   policy          JSON [policy_id, policy, effect]         reasons that stopped or changed an action        0
--   missing         ''                                       decisions in which a fact was missing            0
--   missing_fact    the path of a fact                       decisions in which this fact was missing         0
--   missing_rule    JSON [path, policy_id, policy]           decisions in which this rule missed this fact    0
create table figures (
  org_id      text not null,
  membrane_id text not null,                  -- '': all membranes together
  kind        text not null,
  mode        text not null check (mode in ('live', 'shadow', 'test')),
  span        text not null check (span in ('hour', 'day')),
  begins      timestamptz not null,
  item        text not null,
  count       bigint not null,
  held        bigint not null,
  primary key (org_id, membrane_id, kind, mode, span, begins, item)
) with (fillfactor = 70);
-- Callers choose agent ids, so there may be as many as decisions: the busiest of an hour or day are found without the others.
create index figures_busiest_agents on figures (org_id, membrane_id, mode, span, begins, count desc) where kind = 'agent';

-- How far the figures of an organization are. No row: nothing is counted yet.
create table figures_state (
  org_id     text primary key,
  as_of      bigint not null,                 -- decisions up to this seq are counted; -1: a rebuild still deletes the old figures
  as_of_at   timestamptz,                     -- time of the newest counted decision; null: none
  rebuild_to bigint                           -- a rebuild ends when as_of reaches this seq; null: there is no rebuild
) with (fillfactor = 50);

do $$
declare tenant_table text;
begin
  foreach tenant_table in array array['figures', 'figures_state'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format($p$create policy tenant on %I using (
      org_id = nullif(current_setting('app.org', true), '') or current_setting('app.org', true) = '*')$p$, tenant_table);
  end loop;
end $$;
