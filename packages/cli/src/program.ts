import { product_version } from "@countersign/contract";
import { Command, CommanderError } from "commander";
import { CommandFailed, isStartRefused } from "./command-failed.ts";
import { addDistribute } from "./commands/distribute.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addAudit } from "./commands/evidence/audit.ts";
import { addEvidence } from "./commands/evidence/evidence.ts";
import { addVerify } from "./commands/evidence/verify.ts";
import { addExport } from "./commands/export.ts";
import { addFigures } from "./commands/figures.ts";
import { addHook } from "./commands/hook.ts";
import { addKeys } from "./commands/keys.ts";
import { addMcp } from "./commands/mcp.ts";
import { addAgents } from "./commands/operate/agents.ts";
import { addApprovals, addGrants } from "./commands/operate/approvals.ts";
import { addChannels } from "./commands/operate/channels.ts";
import { addCounters } from "./commands/operate/counters.ts";
import { addErasure } from "./commands/operate/erasure.ts";
import { addFreeze } from "./commands/operate/freeze.ts";
import { addIntents } from "./commands/operate/intents.ts";
import { addLog } from "./commands/operate/log.ts";
import { addMembranes } from "./commands/operate/membranes.ts";
import { addRollouts } from "./commands/operate/rollouts.ts";
import { addStreams } from "./commands/operate/streams.ts";
import { addOrgs } from "./commands/orgs.ts";
import { addPacks } from "./commands/packs.ts";
import { addPolicies } from "./commands/policies.ts";
import { addReplay } from "./commands/replay.ts";
import { addSecrets } from "./commands/secrets.ts";
import { addServe } from "./commands/serve.ts";
import { addIssuers } from "./commands/tokens/issuers.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { type Output, processTerminal, type Terminal } from "./terminal.ts";

const help = `
Settings come from the environment (docs/reference/configuration.md). Without DATABASE_URL, commands work on the embedded
database in COUNTERSIGN_DATA_DIR (./data), whether the service runs or not.

Examples:
  $ countersign serve
  $ countersign keys create --role agent --name billing-bot
  $ countersign doctor`;

export function createProgram(terminal: Terminal): Command {
  const program = new Command("countersign")
    .description("Decides and records the actions that software agents propose.")
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
    ...[addMcp, addHook, addReplay, addWebhooks, addPolicies, addPacks, addAudit, addVerify, addFigures, addDistribute],
    ...[addAgents, addMembranes, addRollouts, addFreeze, addIntents, addApprovals, addGrants, addCounters, addIssuers],
    ...[addLog, addErasure, addEvidence, addChannels, addStreams],
  ])
    add(program, terminal);
  return program;
}

const widthOf = (stream: Output) => (stream.isTTY === true ? (stream.columns ?? 80) : 80);

/** Runs one command line (as in `process.argv`) and resolves to its exit code. */
export async function run(argv: readonly string[], terminal = processTerminal()): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(argv);
    return (await terminal.outputFailure()) === null ? terminal.exitCode : 1;
  } catch (error) {
    if (error === (await terminal.outputFailure())) return 1;
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) return error.exitCode;
    const message = messageFor(error);
    if (message === null) throw error;
    terminal.printError(`countersign: ${message}`);
    return 1;
  }
}

/**
 * Returns the message for an expected error; null for our own mistakes, which show their stack. Compares the service's
 * errors by name, because only some commands load its code.
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
