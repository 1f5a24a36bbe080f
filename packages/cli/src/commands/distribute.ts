import type { Command } from "commander";
import { withInstance } from "../instance.ts";
import type { Terminal } from "../terminal.ts";

const help = `
For a database with the extension citus: DATABASE_URL names the coordinator. The rows of one organization lie together on one
node. Tables in which rows are looked up across organizations are copied to each node. What is distributed already is left alone,
so you can run this again: after a run that was cut off, and after an upgrade that brought new tables.

Do this before the first organization exists. While a table with rows is distributed, nothing can be written to it.

Example:
  $ DATABASE_URL=postgres://countersign@coordinator/countersign countersign distribute`;

/** Adds `distribute`. */
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
  const tables = done.table === 0 ? "All tables were distributed before." : `${done.table} tables are distributed now.`;
  terminal.print(`${tables} Functions that run beside their rows: ${done.function}.`);
}
