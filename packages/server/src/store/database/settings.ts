/** Settings of the server on which our values, our statements and the durability of answers depend. */

/** Names of settings with their values. */
export type Settings = Readonly<Record<string, string>>;

/**
 * The settings of every transaction, in place of those that the role or the database has for other programs. No
 * statement has a time limit here, because migrations and dumps may take long. The pools set their own limit.
 */
const commonSettings: Settings = {
  timezone: "UTC",
  datestyle: "ISO, YMD",
  client_min_messages: "warning",
  standard_conforming_strings: "on",
  row_security: "on",
  extra_float_digits: "1",
  statement_timeout: "0",
  lock_timeout: "0",
};

/** The role that a superuser's transactions switch to, because superusers and owners with BYPASSRLS see every row. */
export const app_role = "countersign_app";

/** A server's answer about a new session. */
export interface SessionLook {
  /** The process id of the server that answered. */
  readonly pid: number;
  /** Whether the user bypasses row-level security. */
  readonly bypasses_rls: boolean;
  readonly synchronous_commit: string;
  /** Null: the server is older than the setting (14 and 17). */
  readonly idle_session_timeout: string | null;
  readonly transaction_timeout: string | null;
  /** Null: the server has no Citus. */
  readonly citus_propagates: string | null;
}

/** The query about a new session. */
export const look = `select pg_backend_pid() as pid,
  (select bool_or(rolsuper or rolbypassrls) from pg_roles where rolname in (current_user, session_user)) as bypasses_rls,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('idle_session_timeout', true) as idle_session_timeout,
  current_setting('transaction_timeout', true) as transaction_timeout,
  current_setting('citus.propagate_set_commands', true) as citus_propagates`;

/** Returns the settings of a transaction on this server. Commits are never weaker than `on`; stronger ones stay. */
export function transactionSettings({ citus_propagates, ...seen }: SessionLook): Settings {
  const { synchronous_commit, transaction_timeout } = seen;
  return {
    // Must come first, because it makes Citus apply the following settings also on the nodes that hold the rows.
    ...(citus_propagates === null ? {} : { "citus.propagate_set_commands": "local" }),
    ...commonSettings,
    synchronous_commit: synchronous_commit === "off" ? "on" : synchronous_commit,
    ...(transaction_timeout === null ? {} : { transaction_timeout: "0" }),
  };
}

/** SQL that sets each of them for the transaction (`local`) or the session. */
export function setAll(settings: Settings, scope: "local" | "session"): string {
  return Object.entries(settings)
    .map(([name, value]) => `set ${scope} ${name} = '${value.replaceAll("'", "''")}'`)
    .join("; ");
}
