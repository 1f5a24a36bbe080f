/** The command line of the Inspector with each server. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Outcome, Pair } from "../outcomes.ts";
import { runToEnd } from "../processes.ts";
import { inspector } from "../programs.ts";
import { subjects } from "./calls.ts";

const call = (name: string, given: object) => [
  ...["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(given)],
];

/** Few, because each starts the Inspector and the server again. */
const asked: Readonly<Record<"fixtures" | "everything" | "filesystem", readonly (readonly string[])[]>> = {
  fixtures: [
    call("test_multiple_content_types", {}),
    call("test_error_handling", {}),
    ["--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"],
    ["--method", "resources/read", "--uri", "test://static-binary"],
    ["--method", "resources/templates/list"],
  ],
  everything: [
    ["--method", "tools/list"],
    ["--method", "resources/list"],
    ["--method", "prompts/list"],
    call("get-sum", { a: 1, b: 2 }),
    call("get-structured-content", { location: "Chicago" }),
    ["--method", "logging/setLevel", "--log-level", "debug"],
  ],
  filesystem: [["--method", "tools/list"], call("list_allowed_directories", {})],
};

/** Its configuration takes a command with options, which its own command line would read as its own. */
async function inspect(command: readonly [string, ...string[]], args: readonly string[]): Promise<Outcome> {
  const home = mkdtempSync(join(tmpdir(), "countersign-conformance-"));
  try {
    const [program, ...rest] = command;
    const config = join(home, "servers.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { tested: { command: program, args: rest } } }));
    const chosen = [...inspector, "--config", config, "--server", "tested", ...args] as const;
    const { code, stdout, stderr } = await runToEnd(chosen, { HOME: home });
    const said = `exit code ${code}`;
    return { said, seen: code === 0 ? JSON.parse(stdout) : { stdout, stderr } };
  } finally {
    rmSync(home, { recursive: true });
  }
}

export const inspectorPairs: readonly Pair[] = Object.entries(asked).map(([server, all]) => ({
  name: `Inspector × ${server}`,
  async run(through) {
    const { command, clean } = subjects[server as keyof typeof asked].prepare();
    const outcomes = new Map<string, Outcome>();
    for (const args of all) outcomes.set(args.slice(1).join(" "), await inspect(through.command(command), args));
    clean();
    return outcomes;
  },
}));
