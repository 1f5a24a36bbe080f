import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { madeDir, sql, temporaryDir } from "../../testing/database/embedded.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { attachEmbedded } from "../embedded-postgres/attach.ts";
import { claim } from "../embedded-postgres/claim.ts";
import { openSharedDatabase, type SharedDatabase } from "./shared-database.ts";
import { first_answer_ms_max } from "./start-database.ts";

const look = ({ connection }: Pick<SharedDatabase, "connection">) => {
  if (!("host" in connection)) throw new Error("expected a socket");
  return sql(connection, "select 1 as one");
};

describe("commands on a data directory whose service does not run", () => {
  test("the command that started the database stops it after the last user, and says that it waits", async () => {
    const config = { database_url: null, data_dir: await madeDir() };
    const told: string[] = [];
    const first = await openSharedDatabase(config, { ...silentLog, warn: (_fields, text) => void told.push(text) });
    const others = [await openSharedDatabase(config, silentLog), await openSharedDatabase(config, silentLog)];
    onTestFinished(async () => void (await Promise.allSettled([first, ...others].map(({ stop }) => stop()))));
    expect([first, ...others].map(({ source }) => source)).toEqual(["embedded", "running", "running"]);
    const stopped = first.stop();
    await expect.poll(() => told).toEqual([expect.stringContaining("another command")]);
    for (const other of others) {
      expect(await look(other)).toEqual([{ one: 1 }]);
      await other.stop();
    }
    await stopped;
    expect(await attachEmbedded(config.data_dir)).toBe(null);
  });

  test("a command waits for a directory whose holder does not share its database, and then fails with the holder's name", async () => {
    const data_dir = join(await temporaryDir(), "data");
    const held = await claim(data_dir);
    onTestFinished(() => held.release());
    const began = performance.now();
    await expect(openSharedDatabase({ database_url: null, data_dir }, silentLog, 1_000)).rejects.toThrow(
      `in use by process ${process.pid}`,
    );
    const waited_ms = performance.now() - began;
    expect([waited_ms >= 1_000, waited_ms < first_answer_ms_max]).toEqual([true, true]);
  });

  test("commands that come and go in any order never lose their database", async () => {
    const config = { database_url: null, data_dir: await madeDir() };
    const command = async () => {
      const opened = await openSharedDatabase(config, silentLog);
      expect(await look(opened)).toEqual([{ one: 1 }]);
      await opened.stop();
    };
    for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 6 }, command));
  });
});
