/** Functions and tables with the names of Citus 13, which record the calls. */

/** Must be on the search path of the database's next sessions. */
export const citusSchema = `drop schema if exists citus cascade; create schema citus;
  do $$ begin execute format('alter database %I set search_path = public, citus', current_database()); end $$`;

export const citusStandIn = `
  create table citus.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char");
  create table citus.pg_dist_local_group (groupid integer);
  insert into citus.pg_dist_local_group values (0);
  create table citus.calls (n bigint generated always as identity, call text, scope text);
  create function citus.create_distributed_table(table_name regclass, distribution_column text,
    distribution_type text default 'hash', colocate_with text default 'default') returns void language plpgsql as $$ begin
    insert into citus.calls (call, scope)
      values (concat_ws(' ', table_name, distribution_column, distribution_type, colocate_with), current_setting('app.org'));
    insert into citus.pg_dist_partition values (table_name, 'h', 's');
  end $$;
  create function citus.create_reference_table(table_name regclass) returns void language plpgsql as $$ begin
    insert into citus.calls (call, scope) values (concat_ws(' ', table_name, 'everywhere'), current_setting('app.org'));
    insert into citus.pg_dist_partition values (table_name, 'n', 't');
  end $$;
  create function citus.create_distributed_function(function_name regprocedure, distribution_arg_name text,
    colocate_with text default 'default') returns void language sql as $$
    insert into citus.calls (call, scope)
      values (concat_ws(' ', function_name::regproc, distribution_arg_name, colocate_with), current_setting('app.org'));
  $$`;
