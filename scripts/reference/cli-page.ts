/** Writes the command line reference from the program itself. */
import { createProgram } from "../../packages/cli/src/program.ts";
import { capturingTerminal } from "../../packages/cli/src/testing/run-cli.ts";
import { generatedPage } from "./markdown.ts";

type Command = ReturnType<typeof createProgram>;

export function cliPage(): string {
  const { terminal } = capturingTerminal();
  const sections = createProgram(terminal).commands.flatMap((command) => [
    section(command, 2),
    ...command.commands.map((inner) => section(inner, 3)),
  ]);
  return generatedPage(
    "Command line",
    "the commands of packages/cli",
    "For operators and for authors of policies. Each command has the same help with `--help`.",
    "```console\n$ npx countersign doctor\n```",
    ...sections,
  );
}

function section(command: Command, level: number): string {
  const names: string[] = [];
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
  let help = "";
  const write = (text: string): void => {
    help += text;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 100 }).outputHelp();
  return `${"#".repeat(level)} ${names.slice(1).join(" ")}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\``;
}
