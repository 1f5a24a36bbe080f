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
import { addExportRows } from "./operate/export-rows.ts";

const export_help = `
The dump is one SQL script of one moment. The service may keep running, even an older version, because the schema is not changed.
Restore it with \`countersign restore\`, or with psql into an unused database that the same version has migrated.
\`countersign orgs list\` migrates the new database of DATABASE_URL; do not start the service in open mode, which creates an
organization. Keep the master key (COUNTERSIGN_MASTER_KEY, or master.key in the data directory) in another place: no other key
opens the sealed secrets.

With DATABASE_REPLICA_URLS the command reads the first replica that has all earlier commits. The last line on standard error
names the replica.

Examples:
  $ countersign export --out countersign.sql.gz
  $ countersign export | gzip > countersign.sql.gz`;

const restore_help = `
The database must be empty: a new data directory, or a new database in DATABASE_URL. No service may use it. Restore with the
version that wrote the dump. A failed restore leaves the database empty.

The state is that of the dump. Keys revoked later, people removed or signed out later, and overrides spent later are valid again.
Deliveries that were pending then are sent again.

Examples:
  $ COUNTERSIGN_DATA_DIR=./data2 countersign restore countersign.sql.gz
  $ DATABASE_URL=postgres://countersign@db/countersign countersign restore countersign.sql`;

export function addExport(program: Command, terminal: Terminal): void {
  const whole = program
    .command("export")
    .description("write the whole database as an SQL script, or decisions or the audit trail as a file")
    .option(
      "--out <file>",
      "write to this file (readable by you only; compressed if the name ends in .gz) instead of standard output",
    )
    .option("--primary", "read the primary even if DATABASE_REPLICA_URLS names replicas", false)
    .addHelpText("after", export_help)
    .action(({ out, primary }: { out?: string; primary: boolean }) =>
      withInstance(terminal, (instance) => write(terminal, instance, out, primary), "keep_schema"),
    );
  addExportRows(whole, terminal);
  program
    .command("restore")
    .description("restore an exported script into an empty database")
    .argument("<file>", "as written by export, plain or gzip")
    .addHelpText("after", restore_help)
    .action((file: string) => restore(terminal, file));
}

async function write(terminal: Terminal, instance: Instance, out: string | undefined, primary: boolean): Promise<void> {
  if (out === undefined)
    return report(terminal, await instance.database.export(terminal.stdout, primary), "standard output");
  // Ends the process at once, because a running statement could delay it.
  const endInterrupt = onInterrupt(terminal, () => {
    rmSync(out, { force: true });
    terminal.printError(`countersign: interrupted: ${out} was incomplete and was removed`);
    terminal.exit(130);
  });
  try {
    // Synchronous, so that an interrupt knows whether there is a file to remove.
    const file = createWriteStream(out, { fd: openNew(out) });
    const first = out.endsWith(".gz") ? createGzip() : new PassThrough();
    try {
      const written = pipeline(first, file);
      const dumped = instance.database.export(first, primary).finally(() => first.end());
      await Promise.allSettled([dumped, written]);
      // Reports the file's own error. The dump only knows that it was cut off.
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
  // Stops reading, so that nothing is restored.
  const endInterrupt = onInterrupt(terminal, () => {
    interrupted = true;
    input.destroy(new Error("interrupted"));
  });
  let taken: string;
  try {
    taken = await instance.database.restore(input);
    // Without the instance's master key, the service creates another one, and deliveries and second factors fail. A
    // policy may be only partly evaluable in this release.
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
  terminal.printError(`${file} is restored; its state is that of ${taken}`);
  terminal.printError("Keys revoked, people removed or signed out, and overrides used after that are valid again.");
}
