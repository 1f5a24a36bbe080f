-- Not a tenant table: how many invitations organizations without a person sent in a day, by organization and by client address.
create table stranger_invitations (
  sender text not null,                        -- `org <org_id>` or `ip <SHA-256 of the network, hex>`
  day    date not null,                        -- UTC
  sent   integer not null,
  primary key (sender, day)
);
