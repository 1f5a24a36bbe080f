import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { sql, temporaryDir } from "../testing/embedded.ts";
import { silentLog } from "../testing/silent-log.ts";
import { attachEmbedded } from "./embedded-postgres/attach.ts";
import { openSharedDatabase, type SharedDatabase } from "./shared-database.ts";

const look = ({ connection }: Pick<SharedDatabase, "connection">) => {
  if (!("host" in connection)) throw new Error("expected a socket");
  return sql(connection, "select 1 as one");
};

describe("commands on a data directory whose service does not run", () => {
  test("whoever started the database stops it behind the last who works on it, and says what it waits for", async () => {
    const config = { database_url: null, data_dir: join(await temporaryDir(), "data") };
    const told: string[] = [];
    const first = await openSharedDatabase(config, { ...silentLog, warn: (_fields, text) => void told.push(text) });
    const others = [await openSharedDatabase(config, silentLog), await openSharedDatabase(config, silentLog)];
    onTestFinished(async () => void (await Promise.allSettled([first, ...others].map(({ stop }) => stop()))));
    expect([first, ...others].map(({ source }) => source)).toEqual(["embedded", "running", "running"]);
    const stopped = first.stop();
    await expect.poll(() => told, { timeout: 10_000 }).toEqual([expect.stringContaining("another command")]);
    for (const other of others) {
      expect(await look(other)).toEqual([{ one: 1 }]);
      await other.stop();
    }
    await stopped;
    expect(await attachEmbedded(config.data_dir)).toBe(null);
  });

  test("however they come and go, none loses its database", async () => {
    const config = { database_url: null, data_dir: join(await temporaryDir(), "data") };
    const command = async () => {
      const opened = await openSharedDatabase(config, silentLog);
      expect(await look(opened)).toEqual([{ one: 1 }]);
      await opened.stop();
    };
    for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 6 }, command));
  });
});
