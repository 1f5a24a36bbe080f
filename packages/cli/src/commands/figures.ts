import type { Instance } from "@countersign/server";
import type { Command } from "commander";
import { organizationNamed, withInstance } from "../instance.ts";
import { onInterrupt } from "../interrupt.ts";
import { startPercentProgress } from "../percent-progress.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const status_help = `
The overview of the console and GET /v1/overview read figures: decisions counted by hour and day. A running service counts new
decisions within a minute. BEHIND is the number of audit entries not counted yet.

Examples:
  $ countersign figures status
  $ countersign figures status --json | jq '.[] | select(.behind > 0)'`;

const rebuild_help = `
Deletes the figures and counts all decisions again. Changes no decision. The service may keep running; until the end, the overview
says that it is incomplete. After an interruption, a running service continues, or you run the same command again.

Examples:
  $ countersign figures rebuild
  $ countersign figures rebuild --org org_01K…`;

export function addFigures(program: Command, terminal: Terminal): void {
  const figures = program.command("figures").description("manage the counts that the overview shows");
  figures
    .command("status")
    .description("show how far the decisions of each organization are counted")
    .option("--json", "print JSON", false)
    .addHelpText("after", status_help)
    .action(({ json }: { json: boolean }) => withInstance(terminal, (instance) => status(terminal, instance, json)));
  figures
    .command("rebuild")
    .description("count all decisions again")
    .option("--org <org_id>", "only this organization (all)")
    .addHelpText("after", rebuild_help)
    .action(({ org }: { org?: string }) => withInstance(terminal, (instance) => rebuild(terminal, instance, org)));
}

const shown = (value: number) => value.toLocaleString("en-US");

async function status(terminal: Terminal, instance: Instance, json: boolean): Promise<void> {
  const found = (await instance.figures.progress()).map(({ org_id, as_of, head, rebuild_to }) => {
    const counted = Math.max(0, as_of);
    return { org_id, as_of: counted, head, behind: head - counted, rebuilding: rebuild_to !== null };
  });
  if (json) return terminal.print(JSON.stringify(found, null, 2));
  const head = ["ORGANIZATION", "COUNTED TO", "NEWEST", "BEHIND", ""];
  const rows = found.map((each) => [
    each.org_id,
    ...[each.as_of, each.head, each.behind].map(shown),
    each.rebuilding ? "rebuild in progress" : "",
  ]);
  terminal.print(formatTable([head, ...rows], [1, 2, 3]));
}

async function rebuild(terminal: Terminal, instance: Instance, org: string | undefined): Promise<void> {
  const organizations =
    org === undefined ? await instance.organizations.list() : [await organizationNamed(instance, org)];
  const progress = startPercentProgress(terminal.stderr);
  const endInterrupt = onInterrupt(terminal, () => {
    progress.end();
    terminal.printError(
      "countersign: interrupted: a running service continues; to continue here, run the same command again",
    );
    terminal.exit(130);
  });
  const rows: string[][] = [];
  try {
    for (const { org_id } of organizations) {
      const { as_of, continued } = await instance.figures.rebuild(org_id, (step) => {
        const counted = Math.max(0, step.as_of);
        const text = step.as_of < 0 ? "deletes the old figures" : `${shown(counted)} entries`;
        progress.report(Math.min(1, counted / Math.max(1, step.rebuild_to ?? step.head)), `${org_id}: ${text}`);
      });
      rows.push([org_id, shown(as_of), continued ? "continued and rebuilt" : "rebuilt"]);
    }
  } finally {
    progress.end();
    endInterrupt();
  }
  terminal.print(formatTable([["ORGANIZATION", "COUNTED TO", "RESULT"], ...rows], [1]));
}
