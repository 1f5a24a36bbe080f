import type { Freeze, FreezeKind, FreezeMode, FreezePreview } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

interface FreezeOptions extends ServiceOptions {
  readonly reason: string;
  readonly mode: FreezeMode;
  readonly dryRun: boolean;
}

type UnfreezeOptions = Pick<FreezeOptions, "url" | "apiKey" | "reason">;

interface Target {
  readonly kind: FreezeKind;
  /** Empty for the organization. */
  readonly id: string;
}

const help = `
A freeze takes effect on every node before the command ends. Mode block stops every action of the target and closes its open
reviews. Mode escalate sends every action to an admin. Freezing again replaces mode and reason.`;

const unfreeze_help = `
If the organization asks for two people, a second person must run the same command within 24 hours.`;

const kinds = [
  { kind: "agent", name: "agent <agent_id>", what: "an agent", example: "agent billing-bot" },
  {
    kind: "key",
    name: "key <key_id>",
    what: "an API key, its rotations, and the keys that it made",
    example: "key key_01K…",
  },
  { kind: "organization", name: "organization", what: "all agents and keys", example: "organization" },
] as const;

export function addFreeze(program: Command, terminal: Terminal): void {
  const freeze = program.command("freeze").description("stop an agent, a key or the organization at once");
  const unfreeze = program.command("unfreeze").description("end a freeze");
  for (const { kind, name, what, example } of kinds) {
    const target = (args: readonly unknown[]): Target => ({ kind, id: kind === "organization" ? "" : String(args[0]) });
    freeze
      .command(name)
      .description(`freeze ${what}`)
      .addOption(reasonOption("why; shown to everybody whose action is stopped"))
      .addOption(
        new Option("--mode <mode>", "block stops actions, escalate sends them to an admin")
          .choices(["block", "escalate"])
          .default("block"),
      )
      .option("--dry-run", "count what the freeze would stop, and do nothing", false)
      .addOption(urlOption())
      .addOption(keyOption("operator key"))
      .addHelpText("after", `${help}\n\nExample:\n  $ countersign freeze ${example} --reason "it pays twice" --dry-run`)
      .action((...args: unknown[]) => begin(terminal, target(args), optionsIn<FreezeOptions>(kind, args)));
    unfreeze
      .command(name)
      .description(`unfreeze ${what}`)
      .addOption(reasonOption("why"))
      .addOption(urlOption())
      .addOption(keyOption("admin key"))
      .addHelpText("after", `${unfreeze_help}\n\nExample:\n  $ countersign unfreeze ${example} --reason "it is fixed"`)
      .action((...args: unknown[]) => end(terminal, target(args), optionsIn<UnfreezeOptions>(kind, args)));
  }
  freeze
    .command("list")
    .description("list what is frozen")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign freeze list")
    .action((options: ServiceOptions) => list(terminal, options));
}

const reasonOption = (description: string): Option =>
  new Option("--reason <text>", description).makeOptionMandatory(true);

/** Commander passes the arguments of a command, then its options. */
function optionsIn<T>(kind: FreezeKind, args: readonly unknown[]): T {
  return args[kind === "organization" ? 0 : 1] as T;
}

async function begin(
  terminal: Terminal,
  target: Target,
  { reason, mode, dryRun, ...service }: FreezeOptions,
): Promise<void> {
  const client = serviceClient(terminal, service);
  const preview = await answered(() => client.previewFreeze(previewQuery(target)));
  if (preview === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(countsText(preview, dryRun));
  if (dryRun) return;
  const input = { mode, reason };
  const { kind, id } = target;
  const frozen = await answered(() => {
    if (kind === "agent") return client.freezeAgent(id, input);
    return kind === "key" ? client.freezeKey(id, input) : client.freezeOrganization(input);
  });
  const closing = frozen.closing_reviews ? "; the rest of its open reviews is being closed" : "";
  terminal.print(visible(`${nameOf(frozen)} is frozen (${frozen.mode})${closing}`));
}

async function end(terminal: Terminal, { kind, id }: Target, { reason, ...service }: UnfreezeOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const { unfrozen, freeze } = await answered(() => {
    if (kind === "agent") return client.unfreezeAgent(id, { reason });
    return kind === "key" ? client.unfreezeKey(id, { reason }) : client.unfreezeOrganization({ reason });
  });
  if (freeze === undefined) throw new CommandFailed(strangerText(""));
  const said = unfrozen ? "is no longer frozen" : "is still frozen: a second, different person has to unfreeze it, too";
  terminal.print(visible(`${nameOf(freeze)} ${said}`));
}

async function list(terminal: Terminal, options: ServiceOptions): Promise<void> {
  const freezes = await answered(() => serviceClient(terminal, options).listFreezes());
  if (!Array.isArray(freezes)) throw new CommandFailed(strangerText(""));
  if (freezes.length === 0) return terminal.print("nothing is frozen");
  const rows = freezes.map((each) => [nameOf(each), each.mode, each.frozen_at, each.frozen_by, each.reason]);
  terminal.print(formatTable([["frozen", "mode", "since", "by", "reason"], ...rows]));
}

function previewQuery({ kind, id }: Target): Parameters<Client["previewFreeze"]>[0] {
  if (kind === "organization") return { kind };
  return kind === "agent" ? { kind, agent_id: id } : { kind, key_id: id };
}

function countsText(preview: FreezePreview, dry_run: boolean): string {
  const { decisions_24h, decisions_complete, open_reviews, live_overrides } = preview;
  const least = decisions_complete ? "" : "at least ";
  const stops = dry_run ? "would stop" : "stops";
  return (
    `the freeze ${stops} an actor with ${least}${count(decisions_24h, "decision")} in the last 24 hours, ` +
    `${count(open_reviews, "open review")} and ${count(live_overrides, "unspent override")}`
  );
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function nameOf({ kind, name }: Pick<Freeze, "kind" | "name">): string {
  return kind === "organization" ? "the organization" : `the ${kind} ${name}`;
}
