/** The options of commands that verify: keys that the reader trusts, and a checkpoint that he knows. */
import type { VerifyReceiptOptions } from "@countersign/sdk/verify";
import { type Command, CommanderError, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { readTextFile } from "../../text-file.ts";

export interface TermsOptions {
  readonly key: readonly string[];
  readonly known?: string;
  readonly proof?: string;
}

/** Adds the options. Wrong options end the program with 2, because 1 means that the check said no. */
export function withTerms(command: Command): Command {
  return command
    .addOption(
      new Option("--key <key>", "a verifier key that you trust, or a file of keys; may be repeated")
        .argParser(collected)
        .makeOptionMandatory(),
    )
    .option("--known <file>", "a checkpoint that you noted at another time")
    .option("--proof <file>", "the consistency proof between both checkpoints (with --known)")
    .option("--json", "print JSON", false)
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new CommanderError(2, error.code, error.message);
    });
}

const collected = (key: string, keys: readonly string[] = []): string[] => [...keys, key];

/** Reads the files of the options. Throws CommandFailed. */
export async function termsOf({ key, known, proof }: TermsOptions): Promise<VerifyReceiptOptions> {
  if ((known === undefined) !== (proof === undefined)) throw new CommandFailed("give --known and --proof together");
  const keys = await Promise.all(key.map(keysOf));
  if (known === undefined || proof === undefined) return { keys: keys.flat() };
  const hashes = linesOf(await readTextFile(proof, `--proof ${proof}`));
  return { keys: keys.flat(), known: { checkpoint: await readTextFile(known, `--known ${known}`), proof: hashes } };
}

/**
 * Only the text of a key has two plus signs. A file has one key a line, or the table of `countersign log keys`, which
 * begins with a line of headings. The name of a key has no spaces.
 */
async function keysOf(key: string): Promise<string[]> {
  if (key.split("+").length > 2) return [key];
  const lines = linesOf(await readTextFile(key, `--key ${key}`)).filter((line) => !line.startsWith("VERIFIER KEY "));
  return lines.map((line) => line.trim().split(/\s/, 1)[0] ?? "");
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}
