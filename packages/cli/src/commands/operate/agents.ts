import type { AgentInput, RegisteredAgent } from "@countersign/contract";
import type { Command } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible, visibleJson } from "../../visible.ts";

interface ListOptions extends ServiceOptions {
  readonly prefix?: string;
}

interface SetOptions extends ServiceOptions {
  readonly owner?: string;
  readonly purpose?: string;
  readonly parent?: string;
}

const set_help = `
Replaces the whole entry: an option that is left out clears its field. Rules, freezes and key bindings that name the parent also bind the
agent. The parent must be in the register already.

Example:
  $ countersign agents set night-worker --owner "Ann Lee" --purpose "Pays invoices at night" --parent planner`;

export function addAgents(program: Command, terminal: Terminal): void {
  const agents = program.command("agents").description("the register of agents");
  agents
    .command("list")
    .description("list the agents that acted or were registered")
    .option("--prefix <text>", "only agents whose id begins with this text")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign agents list --prefix billing")
    .action((options: ListOptions) => list(terminal, options));
  agents
    .command("show <agent_id>")
    .description("print one agent with its activity, keys and open reviews, as JSON")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign agents show billing-bot")
    .action((agent_id: string, options: ServiceOptions) => show(terminal, agent_id, options));
  agents
    .command("set <agent_id>")
    .description("register an agent, or replace its entry")
    .option("--owner <text>", "who answers for the agent")
    .option("--purpose <text>", "what the agent is for")
    .option("--parent <agent_id>", "the agent that this one works for")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", set_help)
    .action((agent_id: string, options: SetOptions) => set(terminal, agent_id, options));
}

async function list(terminal: Terminal, { prefix, ...service }: ListOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const found: RegisteredAgent[] = [];
  let cursor: string | undefined;
  do {
    const at = cursor;
    const query = {
      ...(prefix === undefined ? {} : { prefix }),
      limit: 200,
      ...(at === undefined ? {} : { cursor: at }),
    };
    const page = await answered(() => client.listAgents(query));
    if (!Array.isArray(page.agents)) throw new CommandFailed(strangerText(""));
    found.push(...page.agents);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (found.length === 0) {
    terminal.print("no agent has acted or was registered");
    return;
  }
  const rows = found.map(({ agent_id, status, owner, parent_id, last_seen_at }) => [
    ...[agent_id, status, owner ?? "–", parent_id ?? "–", last_seen_at ?? "never"],
  ]);
  terminal.print(formatTable([["AGENT", "STATE", "OWNER", "WORKS FOR", "LAST SEEN"], ...rows]));
}

async function show(terminal: Terminal, agent_id: string, service: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  terminal.print(visibleJson(await answered(() => client.getAgent(agent_id)), 2));
}

async function set(terminal: Terminal, agent_id: string, options: SetOptions): Promise<void> {
  const { owner = null, purpose = null, parent = null, ...service } = options;
  const input: AgentInput = { owner, purpose, parent_id: parent };
  const client = serviceClient(terminal, service);
  const agent = await answered(() => client.registerAgent(agent_id, input));
  if (agent === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(
    visible(`${agent.agent_id} is registered${agent.parent_id === null ? "" : ` below ${agent.parent_id}`}`),
  );
}
