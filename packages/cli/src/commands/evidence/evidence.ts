import { type CallerInfo, roleMeets } from "@countersign/contract";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { counted } from "../../counted.ts";
import type { ArchiveVerdict } from "../../evidence/verify-archive.ts";
import { givenTime } from "../../given-time.ts";
import { onInterrupt } from "../../interrupt.ts";
import { startPercentProgress } from "../../percent-progress.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import type { Terminal } from "../../terminal.ts";
import { visible, visibleJson } from "../../visible.ts";
import { type TermsOptions, termsOf, withTerms } from "./given-terms.ts";

interface Options extends ServiceOptions {
  readonly from?: string;
  readonly to?: string;
  readonly output?: string;
}

interface VerifyOptions extends TermsOptions {
  readonly json: boolean;
}

const help = `
The archive is a zip file with the decisions of the period, a receipt of each, the audit trail, the policies that were in force,
the keys of the log, a summary for people, and the page that verifies a receipt. It covers what was recorded when the command
began. A command that ends early leaves no file, and its exit code is 1.

Examples:
  $ countersign evidence --from 2026-11-01 --to 2026-12-01 --output november.zip
  $ countersign evidence verify november.zip --key keys.txt`;

const verify_help = `
Needs no service and no network. --key is the log's verifier key, as a text or as a file with one key a line. Get it from
another place than the archive: a forger would put his own key into it.

Exit code 0: the archive is genuine. 1: it is not. 2: the command cannot check it, because of an option or a file.

Examples:
  $ countersign evidence verify november.zip --key log.example/org_01K…+1a2b3c4d+AQ…
  $ countersign evidence verify november.zip --key keys.txt --json | jq .problems`;

export function addEvidence(program: Command, terminal: Terminal): void {
  const evidence = program
    .command("evidence")
    .description("write the evidence of a period into one archive, or check such an archive")
    .option("--from <time>", "RFC 3339, or a date (required)")
    .option("--to <time>", "RFC 3339, or a date; not included (default: now)")
    .option("--output <file>", "the archive, readable by you only (default: evidence-FROM-TO.zip)")
    .addOption(urlOption())
    .addOption(keyOption("auditor, operator or admin key"))
    .addHelpText("after", help)
    .action((options: Options) => make(terminal, options));
  withTerms(evidence.command("verify <archive>"))
    .description("check an archive, offline")
    .addHelpText("after", verify_help)
    .action(async (archive: string, options: VerifyOptions) => {
      terminal.exitCode = await verify(terminal, archive, options);
    });
}

async function periodOf({ from, to }: Options): Promise<{ readonly from: string; readonly to: string }> {
  if (from === undefined) throw new CommandFailed("give the period: --from 2026-11-01 --to 2026-12-01");
  const now = new Date();
  const inUtc = async (option: string, text: string) => {
    const time = await givenTime(option, text);
    return /Z$/.test(time) ? time : new Date(time).toISOString();
  };
  const begin = await inUtc("--from", from);
  const end = to === undefined ? now.toISOString() : await inUtc("--to", to);
  if (Date.parse(begin) > now.getTime())
    throw new CommandFailed(`--from ${from} is in the future: nothing is recorded from then on yet`);
  if (Date.parse(begin) >= Date.parse(end)) throw new CommandFailed(`--from ${from} is not before --to ${to}`);
  return { from: begin, to: end };
}

/** Refuses early, because the first export would only say which role it needs. */
async function callerOf(terminal: Terminal, options: Options): Promise<CallerInfo> {
  const caller = await answered(() => serviceClient(terminal, options).getCaller());
  if (caller?.org_id === undefined) throw new CommandFailed(strangerText(""));
  if (roleMeets(caller.role, ["operator", "auditor"])) return caller;
  throw new CommandFailed(
    `this key has the role ${visible(caller.role)}, which may not read evidence: give a key with the role auditor, operator or admin with --api-key or COUNTERSIGN_API_KEY`,
  );
}

const dateOf = (time: string) => time.replace(/T00:00:00(?:\.0+)?Z$/, "").replaceAll(":", "");

async function make(terminal: Terminal, options: Options): Promise<void> {
  const period = await periodOf(options);
  const caller = await callerOf(terminal, options);
  const { createZip } = await import("../../evidence/zip-writer.ts");
  const { makeArchive } = await import("../../evidence/make-archive.ts");
  const output = options.output ?? `evidence-${dateOf(period.from)}-${dateOf(period.to)}.zip`;
  const zip = createZip(output);
  const progress = startPercentProgress(terminal.stderr);
  const interrupt = new AbortController();
  const endInterrupt = onInterrupt(terminal, () => interrupt.abort());
  try {
    const client = serviceClient(terminal, options);
    const report = (done: number, text: string) => {
      interrupt.signal.throwIfAborted();
      progress.report(done, text);
    };
    const { summary, as_of_seq } = await makeArchive({ client, zip, caller, period, signal: interrupt.signal, report });
    interrupt.signal.throwIfAborted();
    const { bytes, sha256 } = await zip.finish();
    progress.end();
    const counts = `${counted(summary.decisions, "decision")} with receipts, ${counted(summary.audit_records, "audit record")}`;
    terminal.printError(
      `${counts}, ${bytes.toLocaleString("en-US")} bytes written to ${output}, up to audit record ${as_of_seq}`,
    );
    terminal.printError(`sha256 ${sha256}`);
  } catch (error) {
    progress.end();
    zip.drop();
    if (!interrupt.signal.aborted) throw error;
    terminal.printError(`countersign: interrupted: ${output} was incomplete and was removed`);
    terminal.exitCode = 130;
  } finally {
    endInterrupt();
  }
}

async function verify(terminal: Terminal, archive: string, { json, ...options }: VerifyOptions): Promise<number> {
  const { verifyArchive } = await import("../../evidence/verify-archive.ts");
  const progress = startPercentProgress(terminal.stderr);
  let verdict: ArchiveVerdict;
  try {
    verdict = await verifyArchive(archive, await termsOf(options), progress.report);
  } catch (error) {
    if (!(error instanceof CommandFailed || error instanceof TypeError)) throw error;
    terminal.printError(`countersign: ${visible(error.message)}`);
    return 2;
  } finally {
    progress.end();
  }
  terminal.print(json ? visibleJson(verdict, 2) : textOf(verdict));
  return verdict.ok ? 0 : 1;
}

function textOf(verdict: ArchiveVerdict): string {
  const list = (items: readonly string[]) => items.map((item) => `  - ${visible(item)}`);
  const held = `${verdict.receipts_held} of ${counted(verdict.receipts, "receipt")} hold.`;
  const { org_id, from, to, problems, problem_count } = verdict;
  if (!verdict.ok) {
    const more = problem_count - problems.length;
    const rest = more > 0 ? [`and ${counted(more, "more problem")}`] : [];
    return [`NO: this archive is not genuine. ${held}`, ...list(problems), ...rest].join("\n");
  }
  return [
    `YES: this is genuine evidence of ${visible(org_id)}, from ${visible(from)}, before ${visible(to)}. ${held}`,
    "\nProved:",
    ...list(verdict.proved),
    "\nNot proved:",
    ...list(verdict.not_proved),
  ].join("\n");
}
