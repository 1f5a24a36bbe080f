import type { Membrane } from "@countersign/contract";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible, visibleJson } from "../../visible.ts";

interface ReadOptions extends ServiceOptions {
  readonly json: boolean;
}

interface LiveOptions extends ServiceOptions {
  readonly name?: string;
  readonly reason?: string;
}

interface ReturnOptions extends ServiceOptions {
  readonly reason: string;
}

const two_help = `
If the organization asks for two people, a second person must run the same command within 24 hours.`;

export function addMembranes(program: Command, terminal: Terminal): void {
  const membranes = program.command("membranes").description("what is enforced, and whether it may be");
  membranes
    .command("list")
    .description("list membranes with their status")
    .option("--json", "print JSON", false)
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign membranes list")
    .action((options: ReadOptions) => list(terminal, options));
  membranes
    .command("show <membrane_id>")
    .description("print one membrane with its settings, as JSON")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign membranes show mem_01K…")
    .action((id: string, options: ServiceOptions) => show(terminal, id, options));
  membranes
    .command("readiness <membrane_id>")
    .description("say whether a membrane is ready to go live, and why not")
    .option("--json", "print the whole readiness as JSON", false)
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign membranes readiness mem_01K…")
    .action((id: string, options: ReadOptions) => readiness(terminal, id, options));
  membranes
    .command("go-live <membrane_id>")
    .description("start enforcing a membrane's decisions")
    .option("--name <name>", "the membrane's name, where the organization asks for it")
    .option("--reason <text>", "why; written to the audit trail")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", `${two_help}\n\nExample:\n  $ countersign membranes go-live mem_01K… --name payments`)
    .action((id: string, options: LiveOptions) => goLive(terminal, id, options));
  membranes
    .command("return-to-shadow <membrane_id>")
    .description("stop enforcing a membrane's decisions, and mail the reason to all admins")
    .requiredOption("--reason <text>", "why; written to the audit trail")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText(
      "after",
      `${two_help}\n\nExample:\n  $ countersign membranes return-to-shadow mem_01K… --reason "it holds too much"`,
    )
    .action((id: string, options: ReturnOptions) => returnToShadow(terminal, id, options));
}

async function list(terminal: Terminal, { json, ...service }: ReadOptions): Promise<void> {
  const { membranes } = await answered(() => serviceClient(terminal, service).listMembranes({ limit: 100 }));
  if (!Array.isArray(membranes)) throw new CommandFailed(strangerText(""));
  if (json) {
    terminal.print(visibleJson(membranes));
    return;
  }
  const rows = membranes.map(({ membrane_id, name, status, requested_move: asked }) => [
    ...[membrane_id, name, status],
    asked === null ? "" : `${asked.to}, asked by ${asked.requested_by}`,
  ]);
  terminal.print(formatTable([["id", "name", "status", "waits for a second person"], ...rows]));
}

async function show(terminal: Terminal, membrane_id: string, service: ServiceOptions): Promise<void> {
  terminal.print(visibleJson(await answered(() => serviceClient(terminal, service).getMembrane(membrane_id)), 2));
}

async function readiness(terminal: Terminal, membrane_id: string, { json, ...service }: ReadOptions): Promise<void> {
  const found = await answered(() => serviceClient(terminal, service).getMembraneReadiness(membrane_id));
  if (found === undefined) throw new CommandFailed(strangerText(""));
  if (json) {
    terminal.print(visibleJson(found));
    return;
  }
  terminal.print(found.verdict === "ready" ? "ready" : "not yet");
  for (const { message, next_step } of found.not_ready) terminal.print(visible(`- ${message} ${next_step}`));
}

async function goLive(
  terminal: Terminal,
  membrane_id: string,
  { name, reason, ...service }: LiveOptions,
): Promise<void> {
  const input = { ...(name !== undefined && { name }), ...(reason !== undefined && { reason }) };
  const live = await answered(() => serviceClient(terminal, service).goLive(membrane_id, input));
  for (const { message } of live.not_ready) terminal.print(visible(`not ready: ${message}`));
  terminal.print(movedText(live, live.moved));
  if (live.moved) for (const step of live.next_steps) terminal.print(visible(`- ${step}`));
}

async function returnToShadow(
  terminal: Terminal,
  membrane_id: string,
  { reason, ...service }: ReturnOptions,
): Promise<void> {
  const returned = await answered(() => serviceClient(terminal, service).returnToShadow(membrane_id, reason));
  terminal.print(movedText(returned, returned.moved));
}

function movedText({ name, status }: Pick<Membrane, "name" | "status">, moved: boolean): string {
  const said = moved ? `is ${status}` : `is still ${status}: a second, different person must run the same command`;
  return visible(`the membrane ${name} ${said}`);
}
