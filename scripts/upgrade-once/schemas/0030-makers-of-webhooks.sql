-- Who registered a webhook: key_id or user_id; null: nobody knows, or open mode.
alter table webhooks add column created_by text;
