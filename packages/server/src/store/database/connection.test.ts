import { readdir } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { isConnectionLost, openClient } from "./connection.ts";
import { openDb } from "./db.ts";

const { connection } = await testDatabase();

/** Exist since PostgreSQL 14 and 17. */
const newer_timeouts = ["idle_session_timeout", "transaction_timeout"];

test("sessions have the settings that our statements need, even if the database sets others", async () => {
  const others: Record<string, string> = {
    timezone: "Asia/Kathmandu",
    datestyle: "SQL, DMY",
    standard_conforming_strings: "off",
    row_security: "off",
    default_transaction_isolation: "serializable",
    extra_float_digits: "-3",
    lock_timeout: "1ms",
    statement_timeout: "1s",
    synchronous_commit: "off",
  };
  const operator = await openClient(connection, "operator");
  const { name } = (await operator.query("select quote_ident(current_database()) as name")).rows[0];
  const newer = await operator.query("select name from pg_settings where name = any($1)", [newer_timeouts]);
  for (const { name } of newer.rows) others[name] = "5s";
  for (const [setting, value] of Object.entries(others))
    await operator.query(`alter database ${name} set ${setting} = '${value}'`);
  onTestFinished(async () => {
    await operator.query(`alter database ${name} reset all`);
    await operator.end();
  });
  const ours = ["UTC", "ISO, YMD", "on", "on", "read committed", "1", "0", "0", "on", ...newer.rows.map(() => "0")];
  const settings = Object.keys(others).map((name) =>
    name.replace("default_transaction_isolation", "transaction_isolation"),
  );
  const select = `select array[${settings.map((setting) => `current_setting('${setting}')`)}] as ours`;
  const single = await openClient(connection, "odd");
  onTestFinished(() => single.end());
  expect((await single.query(select)).rows).toEqual([{ ours }]);
  const odd = openDb(connection, silentLog);
  onTestFinished(() => odd.close());
  expect(await odd.query(select)).toEqual([{ ours: ours.with(settings.indexOf("statement_timeout"), "30s") }]);
});

test("and keep them when the server's own settings are changed and reloaded", async () => {
  const session = await openClient(connection, "plain");
  onTestFinished(() => session.end());
  const names = ["lock_timeout", "statement_timeout", "synchronous_commit", ...newer_timeouts];
  const { rows } = await session.query("select distinct source from pg_settings where name = any($1)", [names]);
  expect(rows).toEqual([{ source: "session" }]);
});

test("a missing socket counts as a lost server, a missing file does not", async () => {
  const nowhere = { host: "/nowhere", port: 5432, user: "u", database: "d" };
  const causes = await Promise.all([openClient(nowhere, "test").catch(Object), readdir("/nowhere").catch(Object)]);
  expect(causes.map((cause) => [cause.code, isConnectionLost(cause)])).toEqual([
    ["ENOENT", true],
    ["ENOENT", false],
  ]);
});
