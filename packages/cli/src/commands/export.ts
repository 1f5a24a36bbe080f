import { createWriteStream, openSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Instance } from "@countersign/server";
import type { Command } from "commander";
import { unreadable, unwritable } from "../file-fault.ts";
import { instanceLog, withInstance } from "../instance.ts";
import { onInterrupt } from "../interrupt.ts";
import { openText } from "../open-text.ts";
import type { Terminal } from "../terminal.ts";

const export_help = `
The dump is one SQL script as of one moment; the service may go on working, also one of an older version: the schema stays as it
is. It goes back with \`countersign restore\`, or with psql into a database that the same version has migrated and nobody has used:
\`countersign orgs list\` migrates the new database that DATABASE_URL names, while a start in open mode makes an organization in
it. Keep the master key (COUNTERSIGN_MASTER_KEY, or master.key in the data directory) with it, elsewhere: sealed secrets open with
no other.

With DATABASE_REPLICA_URLS the dump is read from the first replica that has all that was committed before. The last line on standard error
names it.

Examples:
  $ countersign export --out countersign.sql.gz
  $ countersign export | gzip > countersign.sql.gz`;

const restore_help = `
The database must be empty: a new data directory, or a new database that DATABASE_URL names. The service must not run on it.
It must be restored with the version that wrote the dump. It is restored whole or not at all.

Everything is as it was when the dump was written. Keys that were revoked since, people who were removed or signed out and
overrides that were spent are good again, and what was not delivered then is delivered again.

Examples:
  $ COUNTERSIGN_DATA_DIR=./data2 countersign restore countersign.sql.gz
  $ DATABASE_URL=postgres://countersign@db/countersign countersign restore countersign.sql`;

/** Adds `export` and `restore`. */
export function addExport(program: Command, terminal: Terminal): void {
  program
    .command("export")
    .description("write the whole database as an SQL script")
    .option(
      "--out <file>",
      "write here (readable by you alone; compressed if it ends in .gz) instead of standard output",
    )
    .option("--primary", "read the primary, although DATABASE_REPLICA_URLS names replicas", false)
    .addHelpText("after", export_help)
    .action(({ out, primary }: { out?: string; primary: boolean }) =>
      withInstance(terminal, (instance) => write(terminal, instance, out, primary), "keep_schema"),
    );
  program
    .command("restore")
    .description("take an exported script into an empty database")
    .argument("<file>", "as export wrote it, plain or gzip")
    .addHelpText("after", restore_help)
    .action((file: string) => restore(terminal, file));
}

async function write(terminal: Terminal, instance: Instance, out: string | undefined, primary: boolean): Promise<void> {
  if (out === undefined)
    return report(terminal, await instance.database.export(terminal.stdout, primary), "standard output");
  // A statement may be under way, and whoever ends this does not want to wait for it.
  const endInterrupt = onInterrupt(terminal, () => {
    rmSync(out, { force: true });
    terminal.printError(`countersign: interrupted: ${out} was not complete and is removed`);
    terminal.exit(130);
  });
  try {
    // At once: between an opening under way and its end nobody could tell whether there is a file of ours to remove.
    const file = createWriteStream(out, { fd: openNew(out) });
    const first = out.endsWith(".gz") ? createGzip() : new PassThrough();
    try {
      const written = pipeline(first, file);
      const dumped = instance.database.export(first, primary).finally(() => first.end());
      await Promise.allSettled([dumped, written]);
      // The file says what is wrong with it; the dump knows only that it was cut off.
      await written.catch((error: unknown) => {
        throw unwritable(out, error);
      });
      report(terminal, await dumped, out);
    } catch (error) {
      await rm(out, { force: true });
      throw error;
    }
  } finally {
    endInterrupt();
  }
}

/** A file that there was not before. */
function openNew(out: string): number {
  try {
    return openSync(out, "wx", 0o600);
  } catch (error) {
    throw unwritable(out, error);
  }
}

type Exported = Awaited<ReturnType<Instance["database"]["export"]>>;

function report(terminal: Terminal, { rows, replica }: Exported, where: string): void {
  const source = replica === null ? "" : `, read from the replica ${replica}`;
  terminal.printError(`${rows.toLocaleString("en-US")} rows written to ${where}${source}`);
}

async function restore(terminal: Terminal, file: string): Promise<void> {
  const { openInstance, readConfig } = await import("@countersign/server");
  const { checkContents } = await import("../doctor/contents.ts");
  const config = readConfig(terminal.env);
  const input = await openText(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const instance = await openInstance(config, instanceLog(terminal), "restore");
  let interrupted = false;
  // A dump that cannot be read on is not taken at all.
  const endInterrupt = onInterrupt(terminal, () => {
    interrupted = true;
    input.destroy(new Error("interrupted"));
  });
  let taken: string;
  try {
    taken = await instance.database.restore(input);
    // A service that starts without the key makes another one, and its deliveries and second factors fail; and a policy of
    // which this release can evaluate less than the one that was exported from may stand aside.
    for (const { state, text, advice } of await checkContents(config, instance, terminal.stderr))
      if (state === "problem") terminal.printError(`countersign: ${text}\n  before the service starts: ${advice}`);
  } catch (error) {
    if (!interrupted) throw error;
    terminal.printError(`countersign: interrupted: nothing of ${file} was restored`);
    terminal.exitCode = 130;
    return;
  } finally {
    endInterrupt();
    await instance.close();
  }
  terminal.printError(`${file} is restored, as it was at ${taken}`);
  terminal.printError("Keys revoked, people removed or signed out, and overrides used after that are good again.");
}
