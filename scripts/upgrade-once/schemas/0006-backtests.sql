-- How membranes and policies were set at each decision is told from the trail; without this every backtest would read all of it.
create index audit_of_settings on audit (org_id, seq) where type in ('membrane_created', 'membrane_changed', 'membrane_went_live',
  'membrane_returned_to_shadow', 'policy_activated', 'policy_retired');
