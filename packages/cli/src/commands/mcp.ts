import { randomUUID } from "node:crypto";
import type { ContextDocument } from "@countersign/contract";
import { type BridgeOptions, bridgeToServer, governProcess, LineTooLong, listenForClients } from "@countersign/mcp";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { exactJson } from "../exact-json.ts";
import { onInterrupt } from "../interrupt.ts";
import { pinsIn } from "../pin-folder.ts";
import { keyOption, type ServiceOptions, serviceAddress, serviceClient, serviceKey, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { readTextFile } from "../text-file.ts";
import { visible } from "../visible.ts";
import { wholeFrom } from "../whole-number.ts";
import { addHttpOptions, type HttpOptions, httpServer, listenAddress } from "./mcp-http.ts";

interface McpOptions extends ServiceOptions, HttpOptions {
  readonly agent?: string;
  readonly parentAgent?: string;
  readonly membrane?: string;
  readonly mode?: string;
  readonly wait: number;
  readonly context?: string;
  readonly agentTokenFile?: string;
  readonly trustAnnotations: boolean;
  readonly withdraw: boolean;
  readonly pin?: string | true;
  readonly hideBlocked: boolean;
}

const help = `
Put it before a server in the configuration of an MCP client (stdio). It starts COMMAND, and submits each tool call as an intent:
the tool's name is the verb, its arguments are the content. A read of a resource or a prompt is an intent of the type data.read.
What is blocked or cannot be decided never reaches the server, and the client gets the reason. A repeated call resumes its review.
COMMAND's environment has no COUNTERSIGN_* variables, so it cannot use your key.

Examples:
  $ countersign mcp -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
  $ countersign mcp --agent desk-bot --wait 25 --trust-annotations -- node server.js
  $ countersign mcp --pin --hide-blocked -- npx -y some-server
  $ countersign mcp --url https://countersign.example --mode shadow -- uvx mcp-server-git

An entry in a client's configuration:
  {"command": "countersign", "args": ["mcp", "--", "npx", "-y", "some-server"], "env": {"COUNTERSIGN_API_KEY": "svc_…"}}

A server behind HTTP, for a client that starts its servers (stdio), and for clients that use HTTP themselves:
  $ countersign mcp --http https://tools.example/mcp --header-env Authorization=TOOLS_AUTHORIZATION
  $ countersign mcp --http https://tools.example/mcp --listen 8090

Exit code: that of COMMAND. With --http: 1 if the server ended the session.`;

const day_seconds = 86_400;
const patience_ms = 5_000;

/** The settings that all ways to the server share. */
type Governing = Omit<BridgeOptions, "server_url" | "headers" | "input" | "output" | "signal" | "patience_ms">;

export function addMcp(program: Command, terminal: Terminal): void {
  const command = program
    .command("mcp")
    .description("check each tool call and each read between an MCP client and a server before it runs")
    .argument("[command]", "the server to start; put -- before it")
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
      45,
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
    .option(
      "--pin [folder]",
      "pin each tool's description and schema when it is first listed; people accept a change before the next call of the " +
        "tool (default folder: countersign/pins in $XDG_STATE_HOME, else in ~/.local/state)",
    )
    .option("--hide-blocked", "leave tools out of tools/list whose calls are always blocked", false)
    .addHelpText("after", help)
    .action(async (command: string | undefined, args: string[], options: McpOptions) => {
      terminal.exitCode = await govern(terminal, command, args, options);
    });
  addHttpOptions(command);
}

async function govern(
  terminal: Terminal,
  command: string | undefined,
  args: readonly string[],
  options: McpOptions,
): Promise<number> {
  if (options.mode !== undefined && options.mode !== "shadow") throw new CommandFailed("--mode takes `shadow` only");
  const server = httpServer(options, terminal.env);
  const is_one = (server === null) !== (command === undefined);
  if (!is_one) throw new CommandFailed("give either a command that starts the server, or --http with its address");
  const identity = server === null ? [command ?? "", ...args] : [server.server_url.href];
  const governing = await governingOf(terminal, identity, options);
  const ending = new AbortController();
  const endInterrupt = onInterrupt(terminal, () => ending.abort());
  try {
    if (server !== null) return await governHttp(terminal, { ...governing, ...server }, options, ending.signal);
    return await governProcess({
      ...{ ...governing, command: command ?? "", args, patience_ms },
      env: Object.fromEntries(Object.entries(terminal.env).filter(([name]) => !name.startsWith("COUNTERSIGN_"))),
      input: terminal.stdin(),
      output: terminal.stdout,
      signal: ending.signal,
    });
  } catch (error) {
    if (error instanceof LineTooLong) throw new CommandFailed(error.message);
    if ((error as NodeJS.ErrnoException).syscall?.startsWith("spawn") !== true) throw error;
    const code = String((error as NodeJS.ErrnoException).code);
    throw new CommandFailed(`${visible(command ?? "")} cannot be started: ${startFaults.get(code) ?? code}`);
  } finally {
    endInterrupt();
  }
}

/** `server`: what tells the pins of this server from those of others. */
async function governingOf(terminal: Terminal, server: readonly string[], options: McpOptions): Promise<Governing> {
  const client = serviceClient(terminal, options, { agent_token: tokenIn(options.agentTokenFile) });
  return {
    client,
    mode: options.mode === "shadow" ? "shadow" : undefined,
    context: options.context === undefined ? undefined : await contextIn(options.context),
    pins: options.pin === undefined ? undefined : pinsIn(terminal, options.pin, server),
    findBlockedTools: options.hideBlocked ? client.findBlockedTools : undefined,
    agent_id: options.agent ?? null,
    parent_id: options.parentAgent,
    session_id: randomUUID(),
    membrane_id: options.membrane,
    trust_annotations: options.trustAnnotations,
    withdraws: options.withdraw,
    wait_ms: options.wait * 1000,
    progress_ms: 5_000,
    console_url: serviceAddress(terminal, options).replace(/\/+$/, ""),
    // Without a key, as in open mode, no state outlives this process.
    state_secret: serviceKey(terminal, options) ?? randomUUID(),
    now_ms: Date.now,
    // Standard output belongs to the client.
    note: (text) => terminal.printError(`countersign: ${visible(text)}`),
  };
}

async function governHttp(
  terminal: Terminal,
  governing: Governing & Pick<BridgeOptions, "server_url" | "headers">,
  options: McpOptions,
  signal: AbortSignal,
): Promise<number> {
  const address = listenAddress(options);
  if (address === null) {
    const [input, output] = [terminal.stdin(), terminal.stdout];
    return bridgeToServer({ ...governing, input, output, signal, patience_ms });
  }
  const { server_url, headers, ...governor } = governing;
  const onListening = (url: string): void => terminal.print(`listening on ${url}`);
  try {
    await listenForClients({ governor, server_url, headers, ...address, signal, patience_ms, onListening });
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall !== "listen" && syscall !== "getaddrinfo") throw error;
    throw new CommandFailed(`--listen ${options.listen}: the address cannot be used: ${code}`);
  }
  return 0;
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
