import type { KeyBindings, KeyBindingsInput } from "@countersign/contract";
import type { Instance } from "@countersign/server";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { organizationOf } from "../instance.ts";
import type { Terminal } from "../terminal.ts";
import { visible } from "../visible.ts";

export interface BindingOptions {
  readonly bindMembrane?: string[];
  readonly bindAgent?: string[];
  readonly bindSource?: string[];
  readonly forbidShadow?: true;
}

export function addBindingOptions(command: Command): Command {
  return command
    .option("--bind-membrane <membrane_id...>", "the membranes that the key may submit to")
    .option("--bind-agent <agent_id...>", "the agents that the key may submit for")
    .option("--bind-source <cidr...>", "the networks that requests with the key must come from")
    .option("--forbid-shadow", "refuse ?mode=shadow");
}

/** Returns null if no option sets a binding. */
export function namedBindings(options: BindingOptions): KeyBindingsInput | null {
  const { bindMembrane, bindAgent, bindSource, forbidShadow } = options;
  const named = {
    ...(bindMembrane === undefined ? {} : { membrane_ids: bindMembrane }),
    ...(bindAgent === undefined ? {} : { agent_ids: bindAgent }),
    ...(bindSource === undefined ? {} : { source_cidrs: bindSource }),
    ...(forbidShadow === undefined ? {} : { forbid_shadow: true }),
  };
  return Object.keys(named).length === 0 ? null : named;
}

/** Throws CommandFailed if the key has no recent submissions. */
export async function observedBindings(instance: Instance, org_id: string, key_id: string): Promise<KeyBindings> {
  const { bindings } = await instance.keys.observed(org_id, key_id);
  if (bindings !== null) return bindings;
  throw new CommandFailed(
    `${key_id} submitted nothing in the last 30 days: name its bindings with --bind-agent and --bind-membrane`,
  );
}

export function boundTo(bindings: KeyBindings | null): string {
  if (bindings === null) return "–";
  const { membrane_ids, agent_ids, source_cidrs, forbid_shadow } = bindings;
  const listed = (what: string, names: readonly string[] | null) =>
    names === null ? [] : [`${what} ${names.length > 3 ? `${names.length} of them` : names.map(visible).join(", ")}`];
  return [
    ...listed("agents", agent_ids),
    ...listed("membranes", membrane_ids),
    ...listed("networks", source_cidrs),
    ...(forbid_shadow ? ["no shadow mode"] : []),
  ].join("; ");
}

const bind_help = `
Replaces the key's bindings from its next request on, on every node. A rotation keeps them. --observed binds the key to the agents and
membranes of its decisions in the last 30 days, and forbids shadow mode. Other options override observed bindings.

Examples:
  $ countersign keys bind key_01K… --observed
  $ countersign keys bind key_01K… --bind-agent billing-bot --bind-source 10.1.0.0/16 --forbid-shadow
  $ countersign keys bind key_01K… --unbind`;

interface BindOptions extends BindingOptions {
  readonly observed: boolean;
  readonly unbind: boolean;
}

export function addBind(
  keys: Command,
  run: (work: (instance: Instance) => Promise<void>) => Promise<void>,
  terminal: Terminal,
) {
  addBindingOptions(keys.command("bind").argument("<key_id>"))
    .description("bind a key to agents, membranes and networks")
    .option("--observed", "bind the key to its recent agents and membranes", false)
    .option("--unbind", "remove all bindings", false)
    .addHelpText("after", bind_help)
    .action((key_id: string, options: BindOptions) => run((instance) => bind(terminal, instance, key_id, options)));
}

async function bind(terminal: Terminal, instance: Instance, key_id: string, options: BindOptions): Promise<void> {
  const named = namedBindings(options);
  if (options.unbind ? options.observed || named !== null : !options.observed && named === null)
    throw new CommandFailed("name the bindings: --observed, --bind-… and --forbid-shadow, or --unbind alone");
  const org_id = await organizationOf(instance, key_id);
  const observed = options.observed ? await observedBindings(instance, org_id, key_id) : {};
  const { bindings } = await instance.keys.bind(org_id, key_id, options.unbind ? null : { ...observed, ...named });
  terminal.print(bindings === null ? `${key_id} is unbound` : `${key_id} is bound: ${boundTo(bindings)}`);
}
