/** `embedded-failover.test.ts` tests a real primary and standby. */
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseUrl, emptyDatabase, testDatabase } from "../../testing/database/database.ts";
import { type Network, openNetwork } from "../../testing/network/network.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { type ConnectionOptions, isConnectionLost, openClient, sqlState } from "./connection.ts";
import { openDb } from "./db.ts";
import { startDatabase } from "./start-database.ts";
import { StartRefused } from "./start-refused.ts";

const { connection } = await testDatabase();

async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

/** Opens a network in front of the database, with an address for a list. */
async function openAddress(): Promise<Network & { readonly address: string }> {
  const network = await openNetwork(connection);
  onTestFinished(() => network.close());
  const at = network.connection;
  const address = "host" in at ? `${at.host}:${at.port}` : new URL(at.connectionString).host;
  return { ...network, address };
}

/** Returns the database's URL with these addresses. */
function listOf(to: ConnectionOptions, ...addresses: readonly string[]): { readonly connectionString: string } {
  const { username, password, pathname } = new URL(databaseUrl(to));
  const signed_in = password === "" ? username : `${username}:${password}`;
  return { connectionString: `postgres://${signed_in}@${addresses.join(",")}${pathname}` };
}

const failureOf = (to: ConnectionOptions) => openClient(to, "test").catch((error: unknown) => error);

describe("a session with one server of a list", () => {
  test("is opened by the pool and alone, past servers that refuse and servers that are silent", async () => {
    const [silent, answering] = [await openAddress(), await openAddress()];
    silent.swallow({ new_ones: true });
    const list = listOf(connection, await closedAddress(), silent.address, answering.address);
    const db = openDb(list, silentLog);
    onTestFinished(() => db.close());
    expect(await db.tenant("org_a", (query) => query("select 1 as one"))).toEqual([{ one: 1 }]);
    const alone = await openClient(list, "test");
    expect((await alone.query("show timezone")).rows).toEqual([{ TimeZone: "UTC" }]);
    await alone.end();
  });

  test("is opened with the first server that takes writes, without asking the next one", async () => {
    const [first, second] = [await openAddress(), await openAddress()];
    await (await openClient(listOf(connection, first.address, second.address), "test")).end();
    expect([first.asked() > 0, second.asked()]).toEqual([true, 0]);
  });
});

describe("a list without a server that takes writes", () => {
  test("is refused with the reason of each server, and retried because the reason may pass", async () => {
    const read_only = await emptyDatabase();
    const owner = await openClient(read_only, "owner");
    const { name } = (await owner.query("select current_database() as name")).rows[0];
    await owner.query(`alter database ${name} set default_transaction_read_only = on`);
    await owner.end();
    const [closed, open] = [await closedAddress(), await openAddress()];
    const list = listOf(read_only, closed, open.address);
    const error = await failureOf(list);
    expect(isConnectionLost(error)).toBe(true);
    expect(String(error)).toBe(
      `Error: no server of the list accepts writes (${closed}: connect ECONNREFUSED ${closed}; ${open.address}: is read-only, because it is a standby or default_transaction_read_only is on)`,
    );
    const refused = startDatabase({ database_url: list.connectionString, data_dir: "/nowhere" }, silentLog, 1);
    await expect(refused).rejects.toThrow(StartRefused);
    await expect(refused).rejects.toThrow(
      /^DATABASE_URL: no session with postgres:\/\/\*\*\*@.*: no server of the list/,
    );
  });

  test("is refused at once if the reason of each server is permanent", async () => {
    const list = listOf(connection, (await openAddress()).address, (await openAddress()).address);
    const error = await failureOf({ connectionString: list.connectionString.replace(/\w+$/, "no_such_database") });
    expect([isConnectionLost(error), sqlState(error)]).toEqual([false, null]);
    expect(String(error).match(/database "no_such_database" does not exist/g)).toHaveLength(2);
  });
});
