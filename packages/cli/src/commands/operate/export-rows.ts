import { once } from "node:events";
import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { extname } from "node:path";
import {
  type AuditType,
  type ExportFormat,
  type ExportProgress,
  type ExportSummary,
  exportFormatNames,
  type PipelineMode,
  type Verdict,
} from "@countersign/contract";
import type { Client, ExportOptions } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { unwritable } from "../../file-fault.ts";
import { givenTime } from "../../given-time.ts";
import { onInterrupt } from "../../interrupt.ts";
import { startPercentProgress } from "../../percent-progress.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, urlOption } from "../../service.ts";
import type { Terminal } from "../../terminal.ts";

interface Options extends ServiceOptions {
  readonly from?: string;
  readonly to?: string;
  readonly format?: ExportFormat;
  readonly output?: string;
}

interface DecisionOptions extends Options {
  readonly agent?: string;
  readonly membrane?: string;
  readonly verdict?: Verdict;
  readonly mode?: PipelineMode;
}

interface AuditOptions extends Options {
  readonly type?: AuditType;
  readonly actor?: string;
  readonly by?: string;
  readonly agent?: string;
  readonly action?: string;
  readonly policy?: string;
  readonly text?: string;
}

const help = `
The newest row is first. The file covers the rows that existed when the export began. An export that ends early leaves no file,
and its exit code is 1. In CSV, texts begin with an apostrophe if a spreadsheet would run them as formulas.`;

const decisions_help = `${help} Values that a rule redacts or masks are not in the file.

Examples:
  $ countersign export decisions --from 2026-11-01 --to 2026-12-01 --output november.csv
  $ countersign export decisions --verdict block --format jsonl | jq .decision.reasons[0].message`;

const audit_help = `${help}

Example:
  $ countersign export audit --from 2026-11-01 --to 2026-12-01 --output november.parquet
  $ countersign export audit --by ann --policy payments.large --format jsonl | jq .type`;

/** Adds the exports of rows to the command `export`, which writes the whole database. */
export function addExportRows(parent: Command, terminal: Terminal): void {
  withOptions(parent.command("decisions"), "API key")
    .description("write decisions of a running service as CSV, JSON Lines or Parquet")
    .option("--agent <id>", "only this agent's intents")
    .option("--membrane <id>", "only decisions of this membrane")
    .addOption(
      new Option("--verdict <verdict>", "only this verdict").choices([
        "approve",
        "approve_modified",
        "escalate",
        "block",
      ]),
    )
    .addOption(new Option("--mode <mode>", "only this mode").choices(["live", "shadow", "test"]))
    .addHelpText("after", decisions_help)
    .action(async ({ agent, membrane, verdict, mode, ...options }: DecisionOptions) => {
      const query = {
        ...(await queryOf(options)),
        ...(agent === undefined ? {} : { agent_id: agent }),
        ...(membrane === undefined ? {} : { membrane_id: membrane }),
        ...(verdict === undefined ? {} : { verdict }),
        ...(mode === undefined ? {} : { mode }),
      };
      await write(terminal, options, (client, following) => client.exportDecisions(query, following));
    });
  withOptions(parent.command("audit"), "operator or auditor key")
    .description("write the audit trail of a running service as CSV, JSON Lines or Parquet")
    .option("--type <type>", "only this type of record")
    .option("--actor <id>", "only records of this key or person")
    .option("--by <name>", "only records of people and keys with this in their name or address")
    .option("--agent <id>", "only records about this agent")
    .option("--action <name>", "only records about intents with this verb or action type")
    .option("--policy <name>", "only records about this policy, or intents that it stopped or changed")
    .option("--text <text>", "only records with this text")
    .addHelpText("after", audit_help)
    .action(async ({ agent, ...options }: AuditOptions) => {
      const { type, actor, by, action, policy, text } = options;
      const filters = { type, actor, by, agent_id: agent, action, policy, text };
      const given = Object.entries(filters).filter(([, value]) => value !== undefined);
      const query = { ...(await queryOf(options)), ...(Object.fromEntries(given) as Given<typeof filters>) };
      await write(terminal, options, (client, following) => client.exportAudit(query, following));
    });
}

/** Without the members that are not given. */
type Given<Filters> = { readonly [Name in keyof Filters]?: Exclude<Filters[Name], undefined> };

function withOptions(command: Command, key: string): Command {
  return command
    .option("--from <time>", "RFC 3339, or a date (default: all)")
    .option("--to <time>", "RFC 3339, or a date; not included (default: now)")
    .addOption(
      new Option("--format <format>", "default: as the name of the file ends, else csv").choices(exportFormatNames),
    )
    .option("--output <file>", "write to this file (readable by you only) instead of standard output")
    .addOption(urlOption())
    .addOption(keyOption(key));
}

async function queryOf({ from, to, format, output = "" }: Options) {
  const end = extname(output).slice(1);
  return {
    format: format ?? exportFormatNames.find((each) => each === end) ?? "csv",
    ...(from === undefined ? {} : { from: await givenTime("--from", from) }),
    ...(to === undefined ? {} : { to: await givenTime("--to", to) }),
  };
}

type Run = (client: Client, following: ExportOptions) => Promise<ExportSummary>;

async function write(terminal: Terminal, options: Options, run: Run): Promise<void> {
  const { output } = options;
  const sink = output === undefined ? streamSink(terminal) : fileSink(output);
  const progress = startPercentProgress(terminal.stderr);
  const interrupt = new AbortController();
  const endInterrupt = onInterrupt(terminal, () => interrupt.abort());
  const following = {
    signal: interrupt.signal,
    on_part: async (bytes: Uint8Array, { rows, done }: ExportProgress) => {
      await sink.write(bytes);
      progress.report(done, `${rows.toLocaleString("en-US")} rows`);
    },
  };
  try {
    const { rows, bytes, sha256, as_of_seq } = await answered(() => run(serviceClient(terminal, options), following));
    progress.end();
    const size = `${rows.toLocaleString("en-US")} rows, ${bytes.toLocaleString("en-US")} bytes`;
    terminal.printError(`${size} written to ${output ?? "standard output"}, up to audit record ${as_of_seq}`);
    terminal.printError(`sha256 ${sha256}`);
  } catch (error) {
    progress.end();
    sink.drop();
    if (!interrupt.signal.aborted) throw error;
    terminal.printError("countersign: interrupted: the export is incomplete");
    terminal.exitCode = 130;
  } finally {
    endInterrupt();
    sink.close();
  }
}

interface Sink {
  write(bytes: Uint8Array): void | Promise<void>;
  /** Removes what was written. */
  drop(): void;
  close(): void;
}

function fileSink(path: string): Sink {
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  const file = guarded(() => openSync(path, "wx", 0o600));
  return {
    // Synchronous, so that the next part waits for the disk.
    write: (bytes) => guarded(() => writeFileSync(file, bytes)),
    drop: () => rmSync(path, { force: true }),
    close: () => closeSync(file),
  };
}

function streamSink({ stdout }: Terminal): Sink {
  return {
    async write(bytes) {
      if (stdout.destroyed) throw new CommandFailed("standard output was closed");
      if (!stdout.write(bytes)) await Promise.race([once(stdout, "drain"), once(stdout, "close")]);
    },
    drop: () => undefined,
    close: () => undefined,
  };
}
