-- Whether an action is the same as another is only asked of what was stopped: overrides, and reviews of equal actions. Of what was
-- approved the fingerprint is not worked out any more: a twentieth of Node's time for a decision.
alter table intents alter column fingerprint drop not null;
