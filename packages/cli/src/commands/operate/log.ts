import { readFile } from "node:fs/promises";
import { limits } from "@countersign/contract";
import type { TreeHead } from "@countersign/core";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";
import { wholeFrom } from "../../whole-number.ts";

interface ConsistencyOptions extends ServiceOptions {
  readonly key: readonly string[];
}

interface RotateOptions extends ServiceOptions {
  readonly overlapDays: number;
}

const consistency_help = `
FILE is a checkpoint that you kept. The command reads the newest checkpoint and a proof, and checks both signatures with KEY and the
proof itself. So no entry under the kept checkpoint was changed or removed since. Exit code 1 if anything differs. Take KEY from
where you keep it, and not from the service that you check.

Example:
  $ countersign log consistency checkpoint.txt --key "countersign.example.com/org_01K…+530d903a+AekyeRrm56hA…"`;

export function addLog(program: Command, terminal: Terminal): void {
  const log = program.command("log").description("the signed tree over the audit trail");
  log
    .command("checkpoint")
    .description("print the newest signed checkpoint")
    .addOption(urlOption())
    .addOption(keyOption("auditor key"))
    .addHelpText("after", "\nExample:\n  $ countersign log checkpoint > checkpoint.txt")
    .action(async (options: ServiceOptions) => {
      const note = await answered(() => serviceClient(terminal, options).getLogCheckpoint());
      // The text must stay as it was signed.
      terminal.print(note.replace(/\n$/, "").split("\n").map(visible).join("\n"));
    });
  log
    .command("consistency <file>")
    .description("check that the newest checkpoint extends one that you kept")
    .requiredOption("--key <key...>", "verifier key of the log; more than one after a rotation")
    .addOption(urlOption())
    .addOption(keyOption("auditor key"))
    .addHelpText("after", consistency_help)
    .action((file: string, options: ConsistencyOptions) => consistency(terminal, file, options));
  log
    .command("keys")
    .description("list the verifier keys of the log")
    .addOption(urlOption())
    .addOption(keyOption("auditor key"))
    .addHelpText("after", "\nExample:\n  $ countersign log keys")
    .action((options: ServiceOptions) => keys(terminal, options));
  log
    .command("rotate-key")
    .description("give the log a new key")
    .option(
      "--overlap-days <days>",
      "how long earlier keys sign beside the new one",
      wholeFrom(0, limits.log_key_overlap_days_max),
      limits.log_key_overlap_days_default,
    )
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign log rotate-key --overlap-days 30")
    .action(async ({ overlapDays, ...service }: RotateOptions) => {
      const rotation = { overlap_days: overlapDays };
      const key = await answered(() => serviceClient(terminal, service).rotateLogKey(rotation));
      terminal.print(visible(key.verifier_key));
    });
}

async function keys(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const found = await answered(() => serviceClient(terminal, options).listLogKeys());
  if (!Array.isArray(found)) throw new CommandFailed(strangerText(""));
  const rows = found.map(({ verifier_key, created_at, retired_at }) => [verifier_key, created_at, retired_at ?? ""]);
  terminal.print(formatTable([["VERIFIER KEY", "CREATED", "SIGNS UNTIL"], ...rows]));
}

async function consistency(terminal: Terminal, file: string, { key, ...service }: ConsistencyOptions): Promise<void> {
  const { isExtension } = await import("@countersign/core");
  const kept = await readFile(file, "utf8").catch(() => {
    throw new CommandFailed(`${file} cannot be read`);
  });
  const client = serviceClient(terminal, service);
  const old = await headOf(kept, key, file);
  const newest = await headOf(await answered(() => client.getLogCheckpoint()), key, "the newest checkpoint");
  if (old.origin !== newest.origin) throw new CommandFailed(`${file} is of another log: ${visible(old.origin)}`);
  if (newest.size < old.size)
    throw new CommandFailed(
      `the log has ${newest.size} entries now, but ${file} has ${old.size}: entries are missing, or the database is an older copy`,
    );
  const { proof } = await answered(() => client.getLogConsistency({ from: old.size, to: newest.size }));
  const hashes = proof.map((hash) => Buffer.from(hash, "base64"));
  if (!isExtension(old, newest, hashes))
    throw new CommandFailed(`the newest checkpoint does not extend ${file}: entries under it were changed or removed`);
  terminal.print(`consistent: ${newest.size} entries, of which ${old.size} are unchanged since ${file}`);
}

async function headOf(
  text: string,
  keys: readonly string[],
  what: string,
): Promise<TreeHead & { readonly origin: string }> {
  const { parseCheckpoint, parseNote, parseVerifierKey, signatureBy } = await import("@countersign/core");
  const note = parseNote(text);
  const checkpoint = note === null ? null : parseCheckpoint(note.text);
  if (note === null || checkpoint === null) throw new CommandFailed(`${what} is no signed checkpoint`);
  const known = keys.map((key) => {
    const parsed = parseVerifierKey(key);
    if (parsed === null) throw new CommandFailed("--key takes a verifier key as `countersign log keys` prints it");
    return parsed;
  });
  const signed = known.some((key) => key.name === checkpoint.origin && signatureBy(note, key) !== null);
  if (!signed) throw new CommandFailed(`${what} has no valid signature of the given keys`);
  return checkpoint;
}
