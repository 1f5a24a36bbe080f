import {
  type ApiKey,
  type ApiKeyInput,
  apiKeyFormat,
  type KeyBindingsInput,
  open_mode_org_id,
  type RateCategory,
  roleNames,
} from "@countersign/contract";
import type { Instance, ListedOrganization } from "@countersign/server";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { organizationNamed, organizationOf, withInstance } from "../instance.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { visible, visibleJson } from "../visible.ts";
import {
  addBind,
  addBindingOptions,
  type BindingOptions,
  boundTo,
  namedBindings,
  observedBindings,
} from "./key-bindings.ts";

const create_help = `
The key is the only text on standard output, and is printed once. All else is on standard error. Without --org, the key is for the
only organization. An instance without organizations uses org_local, the organization of open mode.
The first key of an instance ends open mode permanently.

--template agent creates a bound key of role agent: for the agents of --bind-agent, for the default membrane (or --bind-membrane),
and without shadow mode. --observed-from binds the key to what another key submitted in the last 30 days. Use it for an agent that
has an admin key.

All keys from the command line belong to one person: they cannot approve each other's actions, and count as one approval. With
--person the key belongs to someone else: an account's address or user_id, or any name for a person without an account.

Examples:
  $ countersign keys create --role admin --name me
  $ countersign keys create --role reviewer --person ann
  $ export COUNTERSIGN_API_KEY=$(countersign keys create --template agent --bind-agent billing-bot)
  $ countersign keys create --observed-from key_01K… --name billing-bot
  $ countersign keys create --scope agent --agent-id billing-bot --days 30 --json`;

const limit_help = `
Sets requests per minute by category (intents, general, backtest; the others are counted by address, not by key). Categories that
you do not name keep the instance's limit. The limits hold for the key and its rotations. "none" removes them.

Examples:
  $ countersign keys limit key_01K… intents=6000,general=600
  $ countersign keys limit key_01K… none`;

interface CreateOptions extends BindingOptions {
  readonly template?: "agent";
  readonly observedFrom?: string;
  readonly org?: string;
  readonly name?: string;
  readonly role?: NonNullable<ApiKeyInput["role"]>;
  readonly environment: NonNullable<ApiKeyInput["environment"]>;
  readonly scope: NonNullable<ApiKeyInput["scope"]>;
  readonly agentId?: string;
  readonly days?: number;
  readonly person?: string;
  readonly json: boolean;
}

export function addKeys(program: Command, terminal: Terminal): void {
  const keys = program
    .command("keys")
    .description("create, list, bind and revoke API keys, and agree on their rate limits");
  addBindingOptions(keys.command("create"))
    .description("create a key and print it, once")
    .option("--org <org_id>", "the organization")
    .option("--name <name>", "a note on the purpose of the key")
    .addOption(new Option("--role <role>", "the role of the key (default: agent)").choices(roleNames))
    .addOption(new Option("--template <template>", "a bound key, ready for an agent").choices(["agent"]))
    .option("--observed-from <key_id>", "bind the key to recent submissions of this key")
    .addOption(new Option("--environment <environment>").choices(apiKeyFormat.environments).default("live"))
    .addOption(
      new Option("--scope <scope>", "`agent` binds it to --agent-id").choices(apiKeyFormat.scopes).default("org"),
    )
    .option("--agent-id <id>", "the only agent of a key of scope agent")
    .option("--days <n>", "lifetime in days (default: 365)", wholeNumber)
    .option("--person <who>", "the owner of the key: an account's address or user_id, or a name", personName)
    .option("--json", "print the whole record as JSON", false)
    .addHelpText("after", create_help)
    .action((options: CreateOptions) => withInstance(terminal, (instance) => create(terminal, instance, options)));
  keys
    .command("list")
    .description("list keys, without their secrets")
    .option("--org <org_id>", "of this organization only")
    .option("--json", "print JSON", false)
    .addHelpText(
      "after",
      "\nExample:\n  $ countersign keys list --json | jq '.[] | select(.last_used_at == null).key_id'",
    )
    .action((options: { org?: string; json: boolean }) =>
      withInstance(terminal, (instance) => list(terminal, instance, options)),
    );
  addBind(keys, (work) => withInstance(terminal, work), terminal);
  keys
    .command("revoke")
    .description("revoke a key: no request that begins afterwards succeeds with it, on any node")
    .argument("<key_id>")
    .addHelpText("after", "\nExample:\n  $ countersign keys revoke key_01K…")
    .action((key_id: string) => withInstance(terminal, (instance) => revoke(terminal, instance, key_id)));
  keys
    .command("limit")
    .description("set the rate limits of a key")
    .argument("<key_id>")
    .argument("<limits>", "category=requests pairs, or none")
    .addHelpText("after", limit_help)
    .action((key_id: string, text: string) =>
      withInstance(terminal, (instance) => limit(terminal, instance, key_id, text)),
    );
}

async function create(terminal: Terminal, instance: Instance, options: CreateOptions): Promise<void> {
  const organization = await keyOrganization(instance, options);
  const { org_id } = organization;
  const input = await keyInput(instance, org_id, options);
  const created = await instance.keys.create(org_id, input, options.person);
  if (!options.json) {
    terminal.printError(
      `${created.key_id}, role ${created.role}, for ${org_id} (${visible(organization.name)}), until ${created.expires_at}`,
    );
    terminal.printError("The key is shown only once:");
  }
  const shown = await terminal.written(`${options.json ? JSON.stringify({ org_id, ...created }) : created.api_key}\n`);
  if (shown) return;
  await instance.keys.revoke(org_id, created.key_id);
  throw new CommandFailed(`the output failed, so ${created.key_id} was revoked`);
}

/** Returns the body of POST /v1/api-keys, checked like a request. */
async function keyInput(instance: Instance, org_id: string, options: CreateOptions): Promise<ApiKeyInput> {
  const { role = "agent", environment, scope, name, agentId, days } = options;
  const bindings = await bindingsFor(instance, org_id, options);
  const input: ApiKeyInput = {
    role,
    environment,
    ...(bindings === null ? {} : { bindings }),
    scope,
    ...(name === undefined ? {} : { name }),
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    ...(days === undefined ? {} : { expires_in_days: days }),
  };
  const problems = await instance.keys.problems(input);
  if (problems === null) return input;
  throw new CommandFailed(
    problems.map(({ path, message }) => `${optionNames.get(path) ?? path}: ${message}`).join(" "),
  );
}

async function keyOrganization(instance: Instance, { org, observedFrom }: CreateOptions): Promise<ListedOrganization> {
  if (observedFrom === undefined) return chooseOrganization(instance, org);
  return organizationNamed(instance, await organizationOf(instance, observedFrom));
}

/** Options override observed bindings, which override the template. */
async function bindingsFor(
  instance: Instance,
  org_id: string,
  options: CreateOptions,
): Promise<KeyBindingsInput | null> {
  const { template, observedFrom, role = "agent", environment } = options;
  const named = namedBindings(options);
  if (observedFrom !== undefined) return { ...(await observedBindings(instance, org_id, observedFrom)), ...named };
  if (template === undefined) return named;
  if (role !== "agent") throw new CommandFailed("--template agent makes a key of role agent: leave out --role");
  if (named?.agent_ids === undefined)
    throw new CommandFailed("--template agent requires the agent's id: --bind-agent <id>");
  const membrane_ids = [await instance.organizations.defaultMembrane(org_id)];
  return { membrane_ids, forbid_shadow: environment !== "shadow", ...named };
}

const optionNames: ReadonlyMap<unknown, string> = new Map([
  ["/name", "--name"],
  ["/agent_id", "--agent-id"],
  ["/expires_in_days", "--days"],
]);

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("give a whole number.");
  return Number(text);
}

/** Reads a person's name: printable, and within the length limit. */
function personName(text: string): string {
  if (text.trim() !== text || visible(text) !== text || text.length === 0 || text.length > 100)
    throw new InvalidArgumentError("give 1 to 100 printable characters, without spaces around them.");
  return text;
}

async function chooseOrganization(instance: Instance, org_id: string | undefined): Promise<ListedOrganization> {
  if (org_id !== undefined) return organizationNamed(instance, org_id);
  const organizations = await instance.organizations.list();
  const own = organizations.filter((organization) => organization.org_id !== open_mode_org_id);
  if (own.length > 1)
    throw new CommandFailed(`there are ${own.length} organizations: choose one with --org (countersign orgs list)`);
  const [only] = own;
  return only ?? openModeOrganization(instance);
}

/** Returns open mode's organization, so that the key can use data from open mode. Creates it in a new instance. */
async function openModeOrganization(instance: Instance): Promise<ListedOrganization> {
  await instance.organizations.ensureOpenMode();
  const found = (await instance.organizations.list()).find((organization) => organization.org_id === open_mode_org_id);
  if (found === undefined) throw new Error("open mode's organization was created and cannot be found");
  return found;
}

type OwnedKey = ApiKey & { readonly org_id: string };

async function list(terminal: Terminal, instance: Instance, options: { org?: string; json: boolean }): Promise<void> {
  const organizations = await instance.organizations.list();
  const wanted = options.org === undefined ? organizations : [await chooseOrganization(instance, options.org)];
  const keys: OwnedKey[] = [];
  for (const { org_id } of wanted) keys.push(...(await keysOf(instance, org_id)));
  if (options.json) return terminal.print(visibleJson(keys, 2));
  if (keys.length === 0) return terminal.print("no keys; countersign keys create makes one");
  const head = [
    "KEY_ID",
    "ORGANIZATION",
    "NAME",
    "ROLE",
    "ENV",
    "SCOPE",
    "BOUND TO",
    "STATE",
    "EXPIRES",
    "LAST USED",
    "MADE BY",
    "WARNINGS",
  ];
  const rows = keys.map((key) => [
    key.key_id,
    key.org_id,
    key.name ?? "–",
    key.role,
    key.environment,
    key.agent_id ?? key.scope,
    boundTo(key.bindings),
    stateOf(key),
    key.expires_at.slice(0, 10),
    key.last_used_at?.slice(0, 16) ?? "never",
    key.created_by ?? "–",
    key.warnings.join(", ") || "–",
  ]);
  terminal.print(formatTable([head, ...rows]));
}

async function keysOf(instance: Instance, org_id: string): Promise<OwnedKey[]> {
  return (await instance.keys.list(org_id)).map((key) => ({ org_id, ...key }));
}

/** The rate categories counted by key. See docs/decisions/0002-what-the-api-settles.md. */
const categoriesByKey: readonly string[] = ["intents", "general", "backtest"] satisfies RateCategory[];

function stateOf(key: ApiKey): string {
  if (key.revoked_at !== null) return "revoked";
  return Date.parse(key.expires_at) <= Date.now() ? "expired" : "valid";
}

async function revoke(terminal: Terminal, instance: Instance, key_id: string): Promise<void> {
  const org_id = await organizationOf(instance, key_id);
  await instance.keys.revoke(org_id, key_id);
  terminal.print(`${key_id} of ${org_id} is revoked`);
  const successor = inUseAfter(key_id, await keysOf(instance, org_id));
  if (successor !== null)
    terminal.printError(
      `It was rotated into ${successor}, which is still valid: countersign keys revoke ${successor} ends it, too`,
    );
}

/**
 * Returns the last key of a rotation chain if it is valid, or null. Needed because a thief of the key may have rotated
 * it.
 */
function inUseAfter(key_id: string, keys: readonly OwnedKey[]): string | null {
  const next = new Map(keys.map((key) => [key.rotated_from, key]));
  let last: OwnedKey | undefined;
  for (let key = next.get(key_id); key !== undefined; key = next.get(key.key_id)) last = key;
  return last === undefined || stateOf(last) !== "valid" ? null : last.key_id;
}

async function limit(terminal: Terminal, instance: Instance, key_id: string, text: string): Promise<void> {
  const reading = text === "none" ? { value: null } : instance.keys.readLimits(text, categoriesByKey);
  if ("expected" in reading) throw new CommandFailed(`"${text}" is not a limit: expected ${reading.expected}, or none`);
  const unheard = Object.keys(reading.value ?? {}).filter((category) => !categoriesByKey.includes(category));
  if (unheard.length > 0)
    throw new CommandFailed(
      `${unheard.join(" and ")} is counted by address, not by key: set ${categoriesByKey.join(", ")}`,
    );
  const org_id = await organizationOf(instance, key_id);
  await instance.keys.limit(org_id, key_id, reading.value);
  terminal.print(
    text === "none" ? `${key_id} has the instance's limits again` : `${key_id} may now make ${text} requests a minute`,
  );
}
