/** `npm run upgrade-once`: upgrades a database of an older version once. The next release does not need this folder. */
import { setInterval } from "node:timers";
import { type Log, readConfig } from "@countersign/server";
import { openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { StartRefused } from "../../packages/server/src/store/database/start-refused.ts";
import { upgradeOnce } from "./upgrade-once.ts";

const help = `usage: npm run upgrade-once

Upgrades the database of an older Countersign to the schema of this version. Uses the settings of the service:
DATABASE_URL, or COUNTERSIGN_DATA_DIR for the embedded database.

Before: stop every node of the older version, and keep a dump (\`countersign export\` of that version, or pg_dump).
A million decisions take about three minutes and need twice the room of their tables. After an interruption, run it again.
The hashes of the audit trail are computed again: note the newest root after the upgrade (\`countersign audit verify\`).`;

/** Shows operators that a long upgrade is not stuck. */
const reported_every_ms = 10_000;

const print = (text: string): void => void process.stderr.write(`${text}\n`);
const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_, text) => print(text),
  error: (fields, text) => print(`${text} ${JSON.stringify(fields)}`),
};

async function main(): Promise<void> {
  const database = await openDatabase(readConfig(process.env), log, "restore");
  const began_ms = performance.now();
  const telling = setInterval(() => {
    print(`still running after ${Math.round((performance.now() - began_ms) / 1000)} s …`);
  }, reported_every_ms);
  try {
    const upgraded = await upgradeOnce(database.connection, log);
    if (upgraded === null) return print("The database has the schema of this version: there is nothing to do.");
    const { organizations, decisions, records } = upgraded;
    const count = (n: number) => n.toLocaleString("en-US");
    print(
      `Upgraded ${count(decisions)} decisions and ${count(records)} audit records of ${count(organizations)} organizations.`,
    );
    print("Start the service now. Note the roots of the audit trails again: countersign audit verify");
  } finally {
    clearInterval(telling);
    await database.close();
  }
}

if (process.argv.length > 2) {
  print(help);
  process.exitCode = ["--help", "-h"].includes(process.argv[2] ?? "") ? 0 : 2;
} else {
  try {
    await main();
  } catch (error) {
    print(`countersign: ${error instanceof StartRefused ? error.message : String((error as Error).stack)}`);
    process.exitCode = 1;
  }
}
