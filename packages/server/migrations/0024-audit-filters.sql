-- Names of people, and the second factor that an organization may require (decision 0061).
alter table people add column name text;                                -- null: the address is shown
alter table invitations add column name text;                           -- becomes the person's
alter table organizations add column second_factor_required boolean not null default false;
-- True: the session began with a passkey, or the provider confirmed more than one factor (amr, RFC 8176).
alter table sessions add column strong boolean not null default false;
