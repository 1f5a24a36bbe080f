import { readFile } from "node:fs/promises";
import { type ReceiptVerdict, receiptStory, verifyReceipt } from "@countersign/sdk/verify";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { unreadable } from "../../file-fault.ts";
import type { Terminal } from "../../terminal.ts";
import { visible, visibleJson } from "../../visible.ts";
import { type TermsOptions, termsOf, withTerms } from "./given-terms.ts";

const help = `
Needs no service and no network. --key is the log's verifier key, as a text or as a file with one key a line. Get it from
another place than the receipt: the receipt names keys, too, and a forger would name his own.

--known is a checkpoint that you noted at another time, and --proof the consistency proof between it and the receipt's
checkpoint: a file with one hash in Base64 a line.

Exit code 0: the receipt is genuine. 1: it is not. 2: the command cannot check it, because of an option or a file.

Examples:
  $ countersign verify receipt.json --key log.example/org_01K…+1a2b3c4d+AQ…
  $ countersign verify receipt.json --key keys.txt --json | jq .proved
  $ countersign verify receipt.json --key keys.txt --known checkpoint.txt --proof proof.txt`;

interface VerifyOptions extends TermsOptions {
  readonly json: boolean;
}

export function addVerify(program: Command, terminal: Terminal): void {
  withTerms(program.command("verify <file>"))
    .description("check a receipt of one decision, offline")
    .addHelpText("after", help)
    .action(async (file: string, options: VerifyOptions) => {
      terminal.exitCode = await verify(terminal, file, options);
    });
}

async function verify(terminal: Terminal, file: string, { json, ...options }: VerifyOptions): Promise<number> {
  let verdict: ReceiptVerdict;
  try {
    verdict = await verifyReceipt(await bytesOf(file), await termsOf(options));
  } catch (error) {
    if (!(error instanceof CommandFailed || error instanceof TypeError)) throw error;
    terminal.printError(`countersign: ${visible(error.message)}`);
    return 2;
  }
  terminal.print(json ? visibleJson(verdict, 2) : textOf(verdict));
  return verdict.ok ? 0 : 1;
}

async function bytesOf(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function textOf(verdict: ReceiptVerdict): string {
  if (!verdict.ok) return visible(`NO: ${verdict.reason} (check: ${verdict.check})`);
  const list = (items: readonly string[]) => items.map((item) => `  - ${visible(item)}`);
  return [
    `YES: this is a genuine receipt of ${visible(verdict.intent_id)}.`,
    "\nProved:",
    ...list(verdict.proved),
    "\nNot proved:",
    ...list(verdict.not_proved),
    "\nRecorded:",
    ...list(receiptStory(verdict.entries)),
  ].join("\n");
}
