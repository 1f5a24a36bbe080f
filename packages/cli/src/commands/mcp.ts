import { randomUUID } from "node:crypto";
import type { ContextDocument } from "@countersign/contract";
import { governProcess, LineTooLong } from "@countersign/mcp";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { exactJson } from "../exact-json.ts";
import { onInterrupt } from "../interrupt.ts";
import { keyOption, type ServiceOptions, serviceClient, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { readTextFile } from "../text-file.ts";
import { visible } from "../visible.ts";
import { wholeFrom } from "../whole-number.ts";

interface McpOptions extends ServiceOptions {
  readonly agent?: string;
  readonly parentAgent?: string;
  readonly membrane?: string;
  readonly mode?: string;
  readonly wait: number;
  readonly context?: string;
  readonly agentTokenFile?: string;
  readonly trustAnnotations: boolean;
  readonly withdraw: boolean;
}

const help = `
Put it before a server in the configuration of an MCP client (stdio). It starts COMMAND, and submits each tool call as an intent:
the tool's name is the verb, its arguments are the content. A call that is blocked or cannot be decided never reaches COMMAND, and
the model gets the reason. COMMAND's environment has no COUNTERSIGN_* variables, so it cannot use your key.

Examples:
  $ countersign mcp -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
  $ countersign mcp --agent desk-bot --wait 600 --trust-annotations -- node server.js
  $ countersign mcp --url https://countersign.example --mode shadow -- uvx mcp-server-git

An entry in a client's configuration:
  {"command": "countersign", "args": ["mcp", "--", "npx", "-y", "some-server"], "env": {"COUNTERSIGN_API_KEY": "svc_…"}}

Exit code: that of COMMAND.`;

const day_seconds = 86_400;

export function addMcp(program: Command, terminal: Terminal): void {
  program
    .command("mcp")
    .description("check each tool call between an MCP client and a server before it runs")
    .argument("<command>", "the server to start; put -- before it")
    .argument("[args...]", "its arguments")
    .addOption(urlOption())
    .addOption(keyOption())
    .option("--agent <id>", "the agent's id (default: the client's name, else `unnamed`)")
    .option("--membrane <mem_id>", "the membrane that decides (default: the organization's default membrane)")
    .option("--mode <mode>", "`shadow`: decide without enforcing, whatever the membrane says")
    .option(
      "--wait <seconds>",
      "seconds that a call waits for reviewers before the client must call again",
      wholeFrom(1, day_seconds),
      300,
    )
    .option("--agent-token-file <file>", "a file with the agent's token (JWT), read again for every call")
    .option("--parent-agent <id>", "the agent that this one works for; the register's parent wins over it")
    .option("--context <file>", "a context document (JSON) sent with every call")
    .option(
      "--trust-annotations",
      "trust the server's annotations of read-only tools (fact security.side_effect) and of reversible tools",
      false,
    )
    .option("--no-withdraw", "keep a call in review if the client cancels it (default: it is withdrawn)")
    .addHelpText("after", help)
    .action(async (command: string, args: string[], options: McpOptions) => {
      terminal.exitCode = await govern(terminal, command, args, options);
    });
}

async function govern(
  terminal: Terminal,
  command: string,
  args: readonly string[],
  options: McpOptions,
): Promise<number> {
  const { agent, parentAgent, membrane, mode, wait, trustAnnotations, withdraw } = options;
  if (mode !== undefined && mode !== "shadow") throw new CommandFailed("--mode takes `shadow` only");
  const context = options.context === undefined ? undefined : await contextIn(options.context);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const endInterrupt = onInterrupt(terminal, end);
  try {
    return await governProcess({
      ...{ command, args, context, mode },
      client: serviceClient(terminal, options, { agent_token: tokenIn(options.agentTokenFile) }),
      agent_id: agent ?? null,
      parent_id: parentAgent,
      session_id: randomUUID(),
      membrane_id: membrane,
      trust_annotations: trustAnnotations,
      withdraws: withdraw,
      wait_ms: wait * 1000,
      progress_ms: 10_000,
      patience_ms: 5_000,
      env: Object.fromEntries(Object.entries(terminal.env).filter(([name]) => !name.startsWith("COUNTERSIGN_"))),
      input: terminal.stdin(),
      output: terminal.stdout,
      signal: ending.signal,
      // Standard output belongs to the client.
      note: (text) => terminal.printError(`countersign: ${visible(text)}`),
    });
  } catch (error) {
    if (error instanceof LineTooLong) throw new CommandFailed(error.message);
    if ((error as NodeJS.ErrnoException).syscall?.startsWith("spawn") !== true) throw error;
    const code = String((error as NodeJS.ErrnoException).code);
    throw new CommandFailed(`${visible(command)} cannot be started: ${startFaults.get(code) ?? code}`);
  } finally {
    endInterrupt();
  }
}

const startFaults: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such program"],
  ["EACCES", "this user may not run it"],
]);

/** Reads the file each time, because helpers such as SPIFFE's replace it before the token expires. */
function tokenIn(path: string | undefined): (() => Promise<string>) | undefined {
  return path === undefined ? undefined : () => readTextFile(path, `--agent-token-file ${path}`);
}

/** The service checks the facts. */
async function contextIn(path: string): Promise<ContextDocument> {
  const what = `--context ${path}`;
  return (await exactJson(await readTextFile(path, what), what)) as ContextDocument;
}
