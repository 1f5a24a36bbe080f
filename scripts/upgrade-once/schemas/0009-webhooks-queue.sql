-- What is due is found from receiver to receiver along deliveries_pending. An index by time alone cost every delivery two
-- entries, and a plan that was made while the queue was empty could choose it and read the whole queue for each receiver.
drop index deliveries_due;
