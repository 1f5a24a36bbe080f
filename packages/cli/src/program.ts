import { product_version } from "@countersign/contract";
import { Command, CommanderError } from "commander";
import { CommandFailed, isStartRefused } from "./command-failed.ts";
import { addApprovals } from "./commands/approvals.ts";
import { addAudit } from "./commands/audit.ts";
import { addDistribute } from "./commands/distribute.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addExport } from "./commands/export.ts";
import { addFigures } from "./commands/figures.ts";
import { addFreeze } from "./commands/freeze.ts";
import { addIntents } from "./commands/intents.ts";
import { addKeys } from "./commands/keys.ts";
import { addMcp } from "./commands/mcp.ts";
import { addOrgs } from "./commands/orgs.ts";
import { addPacks } from "./commands/packs.ts";
import { addPolicies } from "./commands/policies.ts";
import { addReplay } from "./commands/replay.ts";
import { addSecrets } from "./commands/secrets.ts";
import { addServe } from "./commands/serve.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { type Output, processTerminal, type Terminal } from "./terminal.ts";

const help = `
Settings come from the environment (docs/reference/configuration.md). Without DATABASE_URL, commands work on the embedded
database in COUNTERSIGN_DATA_DIR (./data), whether the service runs or not.

Examples:
  $ countersign serve
  $ countersign keys create --role agent --name billing-bot
  $ countersign doctor`;

/** The program with all of its commands; each is added here. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("countersign")
    .description("Decides, records and accounts for what software agents propose to do.")
    .version(product_version, "-v, --version", "print the version")
    .addHelpText("after", help)
    .showHelpAfterError("(add --help for the options)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      getOutHelpWidth: () => widthOf(terminal.stdout),
      getErrHelpWidth: () => widthOf(terminal.stderr),
    });
  for (const add of [
    ...[addServe, addKeys, addOrgs, addDoctor, addExport, addSecrets],
    ...[addMcp, addReplay, addWebhooks, addPolicies, addPacks, addAudit, addFigures, addDistribute],
    ...[addFreeze, addIntents, addApprovals],
  ])
    add(program, terminal);
  return program;
}

/** The width of the help. */
const widthOf = (stream: Output) => (stream.isTTY === true ? (stream.columns ?? 80) : 80);

/**
 * Runs one command line (as in `process.argv`) in a terminal: that of this process unless given. Resolves to the exit code when
 * the command is done.
 */
export async function run(argv: readonly string[], terminal = processTerminal()): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(argv);
    return (await terminal.outputFailure()) === null ? terminal.exitCode : 1;
  } catch (error) {
    if (error === (await terminal.outputFailure())) return 1;
    // Commander has printed the help, the version or what is wrong with the command line.
    if (error instanceof CommanderError) return error.exitCode;
    const message = messageFor(error);
    if (message === null) throw error;
    terminal.printError(`countersign: ${message}`);
    return 1;
  }
}

/**
 * What to tell the person: the message of what can go wrong in use. Null for our own mistakes, which show their stack. The
 * service's errors are told by name, because its code is loaded only by the commands that need it.
 */
function messageFor(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof CommandFailed || isStartRefused(error)) return error.message;
  if (error.name === "Fault" && "details" in error) {
    const reasons = (error.details as readonly { message?: string }[]).map(({ message }) => message).filter(Boolean);
    return [error.message, ...reasons].join(": ");
  }
  return "syscall" in error && "code" in error ? error.message : null;
}
