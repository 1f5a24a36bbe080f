-- Stopped and changed decisions in the order of time, for searches by rule (decision 0056). They are few, so most decisions pay nothing.
create index ledger_stopped on ledger (org_id, intent_id) where type = 'decided' and verdict <> 'approve';
