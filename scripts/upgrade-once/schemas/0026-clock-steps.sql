-- Times at which the clock of this service went back by more than clocks differ. What happens is found by its place among times, in
-- ids and in the audit trail; between these two moments places tell nothing. Spans do not overlap.
create table clock_steps (
  back_to  timestamptz primary key,
  ahead_to timestamptz not null
);
-- The furthest moment that a node's clock has come to: whoever starts behind it had its clock set back meanwhile.
create table clock_reached (
  one_row boolean primary key check (one_row),
  reached timestamptz not null
);
