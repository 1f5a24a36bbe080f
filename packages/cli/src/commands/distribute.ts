import type { Command } from "commander";
import { withInstance } from "../instance.ts";
import type { Terminal } from "../terminal.ts";

const help = `
Needs a database with the extension citus. DATABASE_URL names the coordinator. The rows of one organization are stored together
on one node. Tables that are searched across organizations are copied to each node. You can run the command again, after an
interruption or an upgrade with new tables: it skips distributed tables.

Run it before the first organization exists. While a table with rows is distributed, nothing can write to it.

Example:
  $ DATABASE_URL=postgres://countersign@coordinator/countersign countersign distribute`;

export function addDistribute(program: Command, terminal: Terminal): void {
  program
    .command("distribute")
    .description("distribute the tables over the nodes of a Citus cluster")
    .addHelpText("after", help)
    .action(() => distribute(terminal));
}

async function distribute(terminal: Terminal): Promise<void> {
  const done = { table: 0, function: 0 };
  await withInstance(terminal, ({ database }) =>
    database.distribute(({ what, name, placement }) => {
      done[what] += 1;
      terminal.printError(`${what} ${name}: ${placement === "everywhere" ? "copied to each node" : "by organization"}`);
    }),
  );
  const tables = done.table === 0 ? "All tables were already distributed." : `Distributed ${done.table} tables.`;
  terminal.print(`${tables} Functions that run beside their rows: ${done.function}.`);
}
