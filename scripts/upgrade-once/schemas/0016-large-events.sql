-- An event whose deliveries are too large for one statement is dispatched by several, from webhook to webhook in the order of
-- their ids. Null: its deliveries are made by one statement, or none of them is made yet. A program that does not know the
-- column makes the first ones again.
alter table events add column told_up_to text;
