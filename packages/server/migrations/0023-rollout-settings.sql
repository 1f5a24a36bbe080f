-- Rollouts: the counts of a whole run, and holds that the guard returns (decision 0054). Events about a membrane.
select set_config('app.org', '*', true);

alter table rollouts
  add column returns_holds_itself boolean not null default false,
  add column holds_stage integer,              -- holds are enforced for the share of this stage only; 0: for no share; null: for that of `stage`
  add column run_from    timestamptz,          -- when the run began to count: the first stage, or the stage after a stop
  add column run_before  json,                 -- what the figures of that hour held before
  add column run_counts  json;                 -- of the last look: StageCounts of the core
update rollouts set run_from = counted_from, run_before = counted_before, run_counts = counts;

alter table events add column membrane_id text; -- of events without an intent; null: about no membrane

-- Webhooks without a list of types get every type.
update webhooks set event_types = (event_types::jsonb || '["rollout.breached", "rollout.holds_returned"]'::jsonb)::json
where event_types::jsonb @> '["decision.approved", "decision.blocked", "decision.escalated", "decision.overridden",
  "escalation.decided", "escalation.timed_out", "escalation.cancelled", "escalation.reassigned", "quota.exceeded",
  "rate_limit.exceeded", "observation.recorded", "policy.calibrated", "pattern.detected"]'::jsonb;
