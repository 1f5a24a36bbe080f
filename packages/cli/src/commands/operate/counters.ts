import type { Counter } from "@countersign/contract";
import type { CounterQuery } from "@countersign/sdk";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";

interface ListOptions extends ServiceOptions {
  readonly membrane?: string;
  readonly mode?: string;
  readonly name?: string;
  readonly agent?: string;
}

export function addCounters(program: Command, terminal: Terminal): void {
  const counters = program.command("counters").description("sums and counts of earlier actions");
  counters
    .command("list")
    .description("list the keys of counters with their present sums")
    .option("--membrane <id>", "the membrane whose policies count (default: the default membrane)")
    .option("--mode <mode>", "live, shadow or test (default: live)")
    .option("--name <name>", "only this counter: spent for count.spent")
    .option("--agent <id>", "only keys with this agent")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign counters list --name spent --agent billing-bot")
    .action((options: ListOptions) => list(terminal, options));
}

async function list(terminal: Terminal, { membrane, mode, name, agent, ...service }: ListOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const filter = {
    ...(membrane === undefined ? {} : { membrane_id: membrane }),
    ...(mode === undefined ? {} : { mode: mode as NonNullable<CounterQuery["mode"]> }),
    ...(name === undefined ? {} : { name }),
    ...(agent === undefined ? {} : { agent_id: agent }),
  };
  const found: Counter[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: 200, ...(cursor === undefined ? {} : { cursor }) };
    const page = await answered(() => client.listCounters(query));
    if (!Array.isArray(page.counters)) throw new CommandFailed(strangerText(""));
    found.push(...page.counters);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (found.length === 0) {
    terminal.print("no action counts in these counters");
    return;
  }
  const amount = (value: number | null): string => (value === null ? "unknown" : value.toLocaleString("en-US"));
  const rows = found.map(({ name: counter, key, n, sum, waiting_n, waiting_sum, since }) => [
    ...[counter, key.map(String).join(", "), String(n), amount(sum), String(waiting_n), amount(waiting_sum), since],
  ]);
  terminal.print(formatTable([["COUNTER", "KEY", "ACTIONS", "SUM", "WAITING", "WAITING SUM", "SINCE"], ...rows]));
}
