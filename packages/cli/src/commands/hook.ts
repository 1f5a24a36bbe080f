import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { text as textOf } from "node:stream/consumers";
import type { ClaudeCodeHookInput } from "@countersign/contract";
import { type Command, Option } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { answerHook } from "../hooks/answer-hook.ts";
import { isSettings, type Settings, withHooks, withoutHooks } from "../hooks/settings.ts";
import { keyOption, type ServiceOptions, serviceClient, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { readTextFile } from "../text-file.ts";
import { wholeFrom } from "../whole-number.ts";

interface CallOptions {
  readonly agent?: string;
  readonly membrane?: string;
  readonly mode?: "shadow";
  readonly wait: number;
  readonly prompts?: "keep";
}

interface HookOptions extends ServiceOptions, CallOptions {
  readonly agentTokenFile?: string;
}

interface PlaceOptions {
  readonly project?: true;
  readonly user?: true;
  readonly yes?: true;
}

const help = `
Reads one hook of Claude Code on standard input, and prints the answer. PreToolUse submits the tool call as an intent; a call that is
blocked or cannot be decided is denied. PostToolUse reports its outcome. \`countersign hook install\` writes the settings for it.

Settings: COUNTERSIGN_URL is the service, COUNTERSIGN_API_KEY the key. CLAUDE_PROJECT_DIR, which Claude Code sets, is the workspace.

Examples:
  $ countersign hook claude-code < call.json
  $ countersign hook claude-code --agent repo-bot --wait 600 --prompts keep

Exit code: 0, or 2 if standard input is no hook. Claude Code then stops the call.`;

const install_help = `
Shows the settings, asks, and writes .claude/settings.json of this directory, or with --user of your home directory. Keeps all other
settings. Installing again replaces the earlier hooks of Countersign.

Examples:
  $ countersign hook install
  $ countersign hook install --user --yes --agent laptop --wait 600`;

const uninstall_help = `
Example:
  $ countersign hook uninstall --project`;

const default_url = "http://127.0.0.1:8080";
const wait_seconds_max = 3_600;

export function addHook(program: Command, terminal: Terminal): void {
  const hook = program.command("hook").description("check each tool call of a coding agent before it runs");
  withCallOptions(hook.command("claude-code").description("answer one hook of Claude Code"))
    .addOption(
      urlOption("the service (default: COUNTERSIGN_URL)").default(terminal.env["COUNTERSIGN_URL"] || default_url),
    )
    .addOption(keyOption())
    .option("--agent-token-file <file>", "a file with the agent's token (JWT)")
    .addHelpText("after", help)
    .action(async (options: HookOptions) => {
      terminal.exitCode = await claudeCode(terminal, options);
    });
  withPlaceOptions(
    withCallOptions(hook.command("install").description("write the hooks into the settings of Claude Code")),
  )
    .addHelpText("after", install_help)
    .action((options: CallOptions & PlaceOptions) =>
      change(terminal, options, (settings) => withHooks(settings, written(options), options.wait)),
    );
  withPlaceOptions(hook.command("uninstall").description("remove the hooks from the settings of Claude Code"))
    .addHelpText("after", uninstall_help)
    .action((options: PlaceOptions) => change(terminal, options, withoutHooks));
}

function withCallOptions(command: Command): Command {
  return command
    .option("--agent <id>", "the agent's id (default: claude-code)")
    .option("--membrane <mem_id>", "the membrane that decides (default: the organization's default membrane)")
    .addOption(new Option("--mode <mode>", "decide without enforcing, whatever the membrane says").choices(["shadow"]))
    .option("--wait <seconds>", "seconds that a held call waits for people", wholeFrom(0, wait_seconds_max), 300)
    .addOption(new Option("--prompts <what>", "Claude Code asks the user about approved calls, too").choices(["keep"]));
}

function withPlaceOptions(command: Command): Command {
  return command
    .addOption(new Option("--project", ".claude/settings.json of this directory (default)").conflicts("user"))
    .option("--user", ".claude/settings.json of your home directory")
    .option("--yes", "write without asking");
}

/** Returns the options of the installed command. The key stays in the environment. */
function written({ agent, membrane, mode, wait, prompts }: CallOptions): string {
  const options = { agent, membrane, mode, prompts, wait: wait === 300 ? undefined : String(wait) };
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !/^[\w.:@/-]+$/.test(value))
      throw new CommandFailed(`--${name} takes letters, digits and . : @ / - _ here, because a shell reads it`);
  return Object.entries(options)
    .flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${value}`]))
    .join(" ");
}

/** Returns the exit code: 2 stops the call. Never throws: after an error with another code, Claude Code would run the tool. */
async function claudeCode(terminal: Terminal, options: HookOptions): Promise<number> {
  try {
    const input = await hookInput(terminal);
    const { agent, membrane: membrane_id, mode, wait: wait_seconds, prompts, agentTokenFile } = options;
    const workspace = terminal.env["CLAUDE_PROJECT_DIR"] || undefined;
    let status = 0;
    const noting: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      status = response.status;
      return response;
    };
    const agent_token =
      agentTokenFile === undefined
        ? undefined
        : () => readTextFile(agentTokenFile, `--agent-token-file ${agentTokenFile}`);
    const client = serviceClient(terminal, options, { fetch: noting, agent_token });
    const terms = { agent, membrane_id, mode, prompts, workspace, wait_seconds };
    const answer = await answerHook({ client, status: () => status }, input, terms);
    return (await terminal.written(`${JSON.stringify(answer)}\n`)) ? 0 : 2;
  } catch (error) {
    terminal.printError(`countersign: not decided, so nothing was done: ${(error as Error).message}`);
    return 2;
  }
}

/** The service checks the rest. */
async function hookInput(terminal: Terminal): Promise<ClaudeCodeHookInput> {
  const given: unknown = JSON.parse(await textOf(terminal.stdin()));
  const event = (given as { hook_event_name?: unknown } | null)?.hook_event_name;
  if (typeof event !== "string") throw new Error("standard input is no hook of Claude Code");
  return given as ClaudeCodeHookInput;
}

async function change(terminal: Terminal, options: PlaceOptions, to: (settings: Settings) => Settings): Promise<void> {
  const home = terminal.env["HOME"] ?? terminal.env["USERPROFILE"];
  if (options.user === true && home === undefined) throw new CommandFailed("--user needs the variable HOME");
  const path = join(options.user === true ? String(home) : ".", ".claude", "settings.json");
  const before = await settingsIn(path);
  const after = `${JSON.stringify(to(before ?? {}), null, 2)}\n`;
  if (after === `${JSON.stringify(before ?? {}, null, 2)}\n`) return terminal.print(`${path} needs no change`);
  terminal.print(`${path} will be:\n\n${after}`);
  if (options.yes !== true && !(await agrees(terminal))) throw new CommandFailed("nothing was written");
  await mkdir(dirname(path), { recursive: true });
  // A crash must not leave half a file, which would switch all hooks off.
  await writeFile(`${path}.new`, after);
  await rename(`${path}.new`, path);
  terminal.print(`${path} is written`);
}

/** Null: there is no file. */
async function settingsIn(path: string): Promise<Settings | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    throw new CommandFailed(`${path} is no JSON: correct it first`);
  }
  if (!isSettings(settings))
    throw new CommandFailed(`${path} has not the form of Claude Code's settings: correct it first`);
  return settings;
}

async function agrees(terminal: Terminal): Promise<boolean> {
  const asking = createInterface({ input: terminal.stdin(), output: terminal.stderr });
  try {
    return /^y(?:es)?$/i.test((await asking.question("Write it? [y/N] ")).trim());
  } finally {
    asking.close();
  }
}
