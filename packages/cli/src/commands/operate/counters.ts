import { type Counter, type CounterAdjustmentInput, limits, type PipelineMode } from "@countersign/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { counted } from "../../counted.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";
import { wholeFrom } from "../../whole-number.ts";

interface PlaceOptions extends ServiceOptions {
  readonly membrane?: string;
  readonly mode?: string;
}

interface ListOptions extends PlaceOptions {
  readonly name?: string;
  readonly agent?: string;
}

interface AdjustOptions extends PlaceOptions {
  readonly reason: string;
  readonly amount?: number;
  readonly actions?: number;
}

const adjust_help = `
KEY is the value of the key, such as billing-bot. Write a key of several values, or of a number, as a JSON array.
If a policy defines the counter with adjust: two_person, a second person must run the same command within 24 hours.`;

export function addCounters(program: Command, terminal: Terminal): void {
  const counters = program.command("counters").description("sums and counts of earlier actions");
  counters
    .command("list")
    .description("list the keys of counters with their present sums")
    .option("--membrane <id>", "the membrane whose policies count (default: the default membrane)")
    .option("--mode <mode>", "live, shadow or test (default: live)")
    .option("--name <name>", "only this counter: spent for count.spent")
    .option("--agent <id>", "only keys with this agent")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign counters list --name spent --agent billing-bot")
    .action((options: ListOptions) => list(terminal, options));
  counters
    .command("reset <name> <key>")
    .description("let earlier actions of a key count no more, except those that wait for people")
    .addOption(reasonOption())
    .option("--membrane <id>", "the membrane whose policies count (default: the default membrane)")
    .option("--mode <mode>", "live, shadow or test (default: live)")
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText(
      "after",
      `${adjust_help}\n\nExample:\n  $ countersign counters reset spent billing-bot --reason "test payments"`,
    )
    .action((name: string, key: string, options: AdjustOptions) => adjust(terminal, "reset", name, key, options));
  counters
    .command("grant <name> <key>")
    .description("let a key spend or do more, until the grant leaves the window")
    .option("--amount <number>", "how much more", positiveNumber)
    .option("--actions <number>", "how many more actions", wholeFrom(1, limits.counter_grant_actions_max))
    .addOption(reasonOption())
    .option("--membrane <id>", "the membrane whose policies count (default: the default membrane)")
    .option("--mode <mode>", "live, shadow or test (default: live)")
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText(
      "after",
      `${adjust_help}\n\nExample:\n  $ countersign counters grant spent billing-bot --amount 500 --reason "end of quarter"`,
    )
    .action((name: string, key: string, options: AdjustOptions) => adjust(terminal, "grant", name, key, options));
}

const reasonOption = (): Option =>
  new Option("--reason <text>", "why; written to the audit trail").makeOptionMandatory(true);

async function adjust(
  terminal: Terminal,
  kind: CounterAdjustmentInput["kind"],
  name: string,
  key: string,
  { membrane, mode, amount, actions, reason, ...service }: AdjustOptions,
): Promise<void> {
  const input = {
    ...placeOf(membrane, mode),
    ...{ key: keyValues(key), kind, reason },
    ...(amount === undefined ? {} : { amount }),
    ...(actions === undefined ? {} : { actions }),
  };
  const { adjusted, counter } = await answered(() => serviceClient(terminal, service).adjustCounter(name, input));
  if (counter === undefined) throw new CommandFailed(strangerText(""));
  const done = kind === "reset" ? "was reset" : "has more";
  const said = adjusted ? done : "is unchanged: a second, different person must run the same command within 24 hours";
  terminal.print(visible(`${name} of ${counter.key.map(String).join(", ")} ${said}; ${countsText(counter)}`));
}

/** `n` and `sum` are less what people granted, so they can be below 0. */
function countsText({ n, sum, granted_n, granted_sum }: Counter): string {
  const counting = n + granted_n;
  const noun = counting === 1 ? "action counts" : "actions count";
  const counts = `${counting.toLocaleString("en-US")} ${noun}, with the sum ${amountText(sum === null ? null : sum + granted_sum)}`;
  const granted = [
    ...(granted_n === 0 ? [] : [counted(granted_n, "action")]),
    ...(granted_sum === 0 ? [] : [`the amount ${amountText(granted_sum)}`]),
  ];
  return granted.length === 0 ? counts : `${counts}; granted: ${granted.join(" and ")}`;
}

/** A text, or the JSON array of several values. */
function keyValues(key: string): unknown[] {
  if (!key.startsWith("[")) return [key];
  try {
    return JSON.parse(key);
  } catch {
    throw new CommandFailed(`the key ${key} is no JSON array: write for example '["billing-bot", 4711]'`);
  }
}

function positiveNumber(text: string): number {
  if (/^\d{1,10}(\.\d{1,6})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("give a number above 0 with at most six decimals.");
}

function placeOf(membrane: string | undefined, mode: string | undefined) {
  return {
    ...(membrane === undefined ? {} : { membrane_id: membrane }),
    ...(mode === undefined ? {} : { mode: mode as PipelineMode }),
  };
}

const amountText = (value: number | null): string =>
  value === null ? "unknown" : value.toLocaleString("en-US", { maximumFractionDigits: 6 });

async function list(terminal: Terminal, { membrane, mode, name, agent, ...service }: ListOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const filter = {
    ...placeOf(membrane, mode),
    ...(name === undefined ? {} : { name }),
    ...(agent === undefined ? {} : { agent_id: agent }),
  };
  const found: Counter[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: 200, ...(cursor === undefined ? {} : { cursor }) };
    const page = await answered(() => client.listCounters(query));
    if (!Array.isArray(page.counters)) throw new CommandFailed(strangerText(""));
    found.push(...page.counters);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (found.length === 0) {
    terminal.print("no action counts in these counters");
    return;
  }
  const rows = found.map((counter) => {
    const { name: of, key, n, sum, waiting_n, waiting_sum, since, window, limits, requested } = counter;
    const used = [String(n), amountText(sum), String(waiting_n), amountText(waiting_sum)];
    const of_policies = [limits.map(limitText).join(", "), windowText(window), since];
    return [of, key.map(String).join(", "), ...used, ...of_policies, requestText(requested)];
  });
  const counts = ["ACTIONS", "SUM", "WAITING", "WAITING SUM"];
  const heads = ["COUNTER", "KEY", ...counts, "LIMITS", "WINDOW", "SINCE", "REQUESTED"];
  terminal.print(formatTable([heads, ...rows]));
}

function limitText({ policy, policy_mode, field, limit }: Counter["limits"][number]): string {
  const value = `${amountText(limit)}${field === "n" ? " actions" : ""}`;
  return `${value} (${policy}${policy_mode === "shadow" ? ", shadow" : ""})`;
}

function windowText(window: Counter["window"]): string {
  return typeof window === "string" ? window : [window.calendar, window.zone ?? "UTC"].join(" ");
}

function requestText(requested: Counter["requested"]): string {
  if (requested === null) return "";
  const { kind, amount, actions, by } = requested;
  const more = [...(amount === null ? [] : [amountText(amount)]), ...(actions === null ? [] : [`${actions} actions`])];
  return `${[kind, ...more].join(" ")} by ${by}`;
}
