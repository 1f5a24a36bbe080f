import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export function addPacks(program: Command, terminal: Terminal): void {
  const packs = program.command("packs").description("show the packs of ready-made policies in this version");
  packs
    .command("list")
    .description("list the packs")
    .option("--json", "print JSON", false)
    .addHelpText("after", "\nExample:\n  $ countersign packs list")
    .action(({ json }: { json: boolean }) => list(terminal, json));
  packs
    .command("show")
    .description("show a pack's rules and their citations")
    .argument("<name>")
    .option("--json", "print JSON", false)
    .addHelpText("after", "\nExample:\n  $ countersign packs show hipaa")
    .action((name: string, { json }: { json: boolean }) => show(terminal, name, json));
}

async function list(terminal: Terminal, json: boolean): Promise<void> {
  const { readPacks } = await import("@countersign/server");
  const packs = await readPacks();
  if (json) return terminal.print(JSON.stringify(packs, null, 2));
  const rows = packs.map(({ name, version, rules, title }) => [name, version, String(rules.length), title]);
  terminal.print(formatTable([["NAME", "VERSION", "RULES", "TITLE"], ...rows], [2]));
}

async function show(terminal: Terminal, name: string, json: boolean): Promise<void> {
  const { readPacks } = await import("@countersign/server");
  const packs = await readPacks();
  const pack = packs.find((each) => each.name === name);
  if (pack === undefined)
    throw new CommandFailed(`there is no pack ${name}; there are ${packs.map((each) => each.name).join(", ")}`);
  if (json) return terminal.print(JSON.stringify(pack, null, 2));
  const rows = pack.rules.map((rule) => [rule.name, rule.effect, rule.citations.join("; ")]);
  terminal.print(`${pack.title} ${pack.version}\n${pack.description.trim()}\n`);
  terminal.print(formatTable([["RULE", "EFFECT", "CITES"], ...rows]));
}
