/** The whole service on a primary and its streaming standby: DATABASE_URL lists both, and the standby is promoted. */
import { execFile } from "node:child_process";
import { appendFile, chown, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../src/edge/log.ts";
import { startService } from "../../src/edge/main.ts";
import { readConfig } from "../../src/edge/start/config.ts";
import { startEmbedded } from "../../src/store/embedded-postgres/index.ts";
import { madeDir, sql, started, temporaryDir } from "../../src/testing/database/embedded.ts";
import { openNetwork } from "../../src/testing/network/network.ts";
import { builtThread } from "../../src/testing/nodes/built-thread.ts";
import { sharedPacks } from "../../src/testing/nodes/service-node.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

const settings = { wal_level: "replica", max_wal_senders: "4", hot_standby: "on" };
const socketOf = (data_dir: string) => ({
  host: join(data_dir, "postgres/run"),
  port: 5432,
  user: "countersign",
  database: "countersign",
});

/** A primary, and a standby of it that answers questions. Both have a TCP address. */
async function openPair() {
  const [of_primary, of_standby] = [await madeDir(), join(await temporaryDir(), "data")];
  // The log that a standby begins with must have been written for standbys.
  await (await startEmbedded({ data_dir: of_primary, settings }, silentLog)).stop();
  await promisify(execFile)("cp", ["-a", of_primary, of_standby]);
  const primary = await started({ data_dir: of_primary, settings });
  const way = await openNetwork(primary.connection);
  onTestFinished(() => way.close());
  if (!("host" in way.connection)) throw new Error("the embedded server has a host");
  const db_dir = join(of_standby, "postgres/db");
  const { host, port } = way.connection;
  await appendFile(
    join(db_dir, "postgresql.auto.conf"),
    `primary_conninfo = 'host=${host} port=${port} user=postgres'\n`,
  );
  await writeFile(join(db_dir, "standby.signal"), "");
  const { uid, gid } = await stat(db_dir);
  await chown(join(db_dir, "standby.signal"), uid, gid);
  // It is ready when it is promoted.
  const promoted = started({ data_dir: of_standby, settings });
  const standby = socketOf(of_standby);
  await expect.poll(() => sql(standby, "select 1 as one").catch(String)).toEqual([{ one: 1 }]);
  const way_of_standby = await openNetwork(standby);
  onTestFinished(() => way_of_standby.close());
  if (!("host" in way_of_standby.connection)) throw new Error("the embedded server has a host");
  return {
    primary,
    addresses: [`127.0.0.1:${way_of_standby.connection.port}`, `127.0.0.1:${port}`],
    async promote() {
      await sql(standby, "select pg_promote()", "postgres");
      await promoted;
    },
  };
}

test("a service whose DATABASE_URL lists a standby works on the primary, and on the standby once that is promoted", async () => {
  const { primary, addresses, promote } = await openPair();
  const DATABASE_URL = `postgres://countersign@${addresses.join(",")}/countersign?target_session_attrs=read-write`;
  const COUNTERSIGN_DATA_DIR = await temporaryDir();
  const config = readConfig({ DATABASE_URL, COUNTERSIGN_DATA_DIR, PORT: "0", HOST: "127.0.0.1" });
  const shared = { packs: sharedPacks(), deliveryThread: builtThread("delivery-thread") };
  const service = await startService(config, createLog("silent"), shared);
  onTestFinished(() => service.stop());
  const send = async (path: string, body: object | null, key = "") => {
    const headers = { "content-type": "application/json", ...(key === "" ? {} : { "x-api-key": key }) };
    const init = body === null ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${service.url}/v1${path}`, init);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const organization = { org_name: "Acme", email: "you@example.com", description: "an agent that pays invoices" };
  const { body } = await send("/onboarding/quickstart", organization);
  const key = String(body["api_key"]);
  const submit = async (payer: string) => {
    const action = { type: "payment.transfer", verb: "send_money" };
    const intent = { agent: { id: payer }, action, payload: { content: { amount_usd: 12 } } };
    return (await send("/intents", { intent }, key)).status;
  };
  expect(await submit("before")).toBe(201);
  await primary.stop();
  await promote();
  await expect.poll(() => submit("after")).toBe(201);
  const { intents } = (await send("/intents", null, key)).body as { intents: { agent: { id: string } }[] };
  expect(intents.map(({ agent }) => agent.id).sort()).toEqual(["after", "before"]);
});
