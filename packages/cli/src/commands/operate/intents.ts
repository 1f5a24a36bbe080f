import type { ObservationInput } from "@countersign/contract";
import { pagesOf } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

interface SettleOptions extends ServiceOptions, ObservationInput {}

const help = `
An outcome is unknown if an action was claimed and nobody reported what became of it within 15 minutes. Look in the system that
the action changes, then report what you found. A claim is never given back.`;

interface ReceiptOptions extends ServiceOptions {
  readonly tlogProof: boolean;
}

const receipt_help = `
Keep the output unchanged: a receipt with one other byte is refused.

Example:
  $ countersign intents receipt int_01K… > receipt.json`;

export function addIntents(program: Command, terminal: Terminal): void {
  const intents = program
    .command("intents")
    .description("find and settle unknown outcomes of actions, and print receipts");
  intents
    .command("unknown")
    .description("list actions that were claimed and whose outcome nobody reported")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", `${help}\n\nExample:\n  $ countersign intents unknown`)
    .action((options: ServiceOptions) => listUnknown(terminal, options));
  intents
    .command("settle <intent_id>")
    .description("report what became of an action")
    .addOption(
      new Option("--status <status>", "what happened")
        .choices(["executed", "failed", "skipped"])
        .makeOptionMandatory(true),
    )
    .option("--detail <text>", "how you know it")
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText(
      "after",
      `${help}\n\nExample:\n  $ countersign intents settle int_01K… --status executed --detail "The bank shows the payment."`,
    )
    .action((intent_id: string, options: SettleOptions) => settle(terminal, intent_id, options));
  intents
    .command("receipt <intent_id>")
    .description("print the receipt of a decision, for `countersign verify`")
    .option("--tlog-proof", "print the C2SP tlog-proof of the decision instead", false)
    .addOption(urlOption())
    .addOption(keyOption("operator or auditor key"))
    .addHelpText("after", receipt_help)
    .action((intent_id: string, options: ReceiptOptions) => printReceipt(terminal, intent_id, options));
}

async function listUnknown(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, options);
  const rows: string[][] = [];
  const pages = pagesOf((place) => answered(() => client.listIntents({ execution: "unknown", limit: 200, ...place })));
  for await (const { intents } of pages) {
    if (!Array.isArray(intents)) throw new CommandFailed(strangerText(""));
    for (const { intent_id, agent, action, execution } of intents)
      rows.push([intent_id, agent.id, action.verb, execution?.at ?? "", execution?.by?.id ?? ""]);
  }
  if (rows.length === 0) return terminal.print("no outcome is unknown");
  terminal.print(formatTable([["intent", "agent", "action", "claimed at", "by"], ...rows]));
}

async function settle(
  terminal: Terminal,
  intent_id: string,
  { status, detail, ...service }: SettleOptions,
): Promise<void> {
  const client = serviceClient(terminal, service);
  const observation = await answered(() =>
    client.recordObservation(intent_id, detail === undefined ? { status } : { status, detail }),
  );
  if (observation === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(visible(`${observation.intent_id} is reported as ${observation.status}`));
}

async function printReceipt(
  terminal: Terminal,
  intent_id: string,
  { tlogProof, ...service }: ReceiptOptions,
): Promise<void> {
  const client = serviceClient(terminal, service);
  const format = tlogProof ? "tlog-proof" : "json";
  const text = await answered(() => client.getIntentReceipt(intent_id, { format }));
  if (!text.startsWith(tlogProof ? "c2sp.org/tlog-proof@v1\n" : "{")) throw new CommandFailed(strangerText(""));
  await terminal.written(text);
}
