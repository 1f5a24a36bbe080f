import type { Command } from "commander";
import { isStartRefused } from "../command-failed.ts";
import { type Finding, note, ok, problem } from "../doctor/finding.ts";
import { checkDataDir, checkDisk, checkNode, checkPort } from "../doctor/machine.ts";
import { checkService } from "../doctor/service.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const help = `
Checks Node, settings, data directory, disk, database, schema, clock, secrets, keys, policies, Redis and port; changes nothing. An embedded database
that is not running is started for the check. With COUNTERSIGN_URL or COUNTERSIGN_API_KEY, it also asks the service there. Exit code: 1 when there is a problem, else 0.

Examples:
  $ countersign doctor
  $ countersign doctor --json | jq '.[] | select(.state == "problem")'`;

export function addDoctor(program: Command, terminal: Terminal): void {
  program
    .command("doctor")
    .description("find problems of this installation, and say what to do")
    .option("--json", "print JSON", false)
    .addHelpText("after", help)
    .action(async ({ json }: { json: boolean }) => {
      const findings = await examine(terminal);
      terminal.print(json ? JSON.stringify(findings, null, 2) : report(findings));
      if (findings.some(({ state }) => state === "problem")) terminal.exitCode = 1;
    });
}

async function examine(terminal: Terminal): Promise<Finding[]> {
  const { readConfig } = await import("@countersign/server");
  const { checkDatabase, checkRedis } = await import("../doctor/database.ts");
  let config: ReturnType<typeof readConfig>;
  try {
    config = readConfig(terminal.env);
  } catch (error) {
    if (!isStartRefused(error)) throw error;
    const wrong = error.message
      .split("\n")
      .map((line) => problem("settings", line, "see docs/reference/configuration.md"));
    return [checkNode(), ...wrong, note("others", "not checked", "fix the settings first")];
  }
  return [
    checkNode(),
    ok("settings", "all are valid"),
    ...config.unknown_settings.map((name) =>
      note("settings", `${name} is not a setting`, "is it misspelt? see docs/reference/configuration.md"),
    ),
    await checkDataDir(config),
    await checkDisk(config),
    ...(await checkDatabase(config, terminal.stderr)),
    ...(await checkRedis(config)),
    await checkPort(config),
    ...(await checkService(terminal)),
  ];
}

function report(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, state, text, advice }) => [
    [state === "ok" ? "ok" : state.toUpperCase(), check, text],
    ...(advice === null ? [] : [["", "", `→ ${advice}`]]),
  ]);
  const problems = findings.filter(({ state }) => state === "problem").length;
  const verdict =
    problems === 0 ? "No problems found." : `${problems} ${problems === 1 ? "problem" : "problems"} found.`;
  return `${formatTable(rows)}\n\n${verdict}`;
}
