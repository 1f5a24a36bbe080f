export type Settings = Readonly<Record<string, string>>;

/** No statement timeout, because migrations and dumps may take long; pools set their own. */
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

/** Superusers and owners with BYPASSRLS see every row, so they switch to this role. */
export const app_role = "countersign_app";

export interface SessionLook {
  readonly pid: number;
  readonly bypasses_rls: boolean;
  readonly synchronous_commit: string;
  /** Null: older than the setting (14 and 17). */
  readonly idle_session_timeout: string | null;
  readonly transaction_timeout: string | null;
  readonly citus_propagates: string | null;
}

export const look = `select pg_backend_pid() as pid,
  (select bool_or(rolsuper or rolbypassrls) from pg_roles where rolname in (current_user, session_user)) as bypasses_rls,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('idle_session_timeout', true) as idle_session_timeout,
  current_setting('transaction_timeout', true) as transaction_timeout,
  current_setting('citus.propagate_set_commands', true) as citus_propagates`;

/** Commits are never weaker than `on`; stronger settings stay. */
export function transactionSettings({ citus_propagates, ...seen }: SessionLook): Settings {
  const { synchronous_commit, transaction_timeout } = seen;
  return {
    // Must come first, so that Citus applies the following settings on the data nodes.
    ...(citus_propagates === null ? {} : { "citus.propagate_set_commands": "local" }),
    ...commonSettings,
    synchronous_commit: synchronous_commit === "off" ? "on" : synchronous_commit,
    ...(transaction_timeout === null ? {} : { transaction_timeout: "0" }),
  };
}

export function setAll(settings: Settings, scope: "local" | "session"): string {
  return Object.entries(settings)
    .map(([name, value]) => `set ${scope} ${name} = '${value.replaceAll("'", "''")}'`)
    .join("; ");
}
