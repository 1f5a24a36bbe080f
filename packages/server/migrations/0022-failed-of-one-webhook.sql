-- Failed deliveries are kept for ever: those of one webhook are found without reading those of all others.
create index deliveries_failed_of_webhook on deliveries (org_id, webhook_id, delivery_id) where status = 'failed';
