import { limits } from "@countersign/contract";
import type { Instance } from "@countersign/server";
import { type Command, InvalidArgumentError } from "commander";
import { organizationNamed, withInstance } from "../instance.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { visible, visibleJson } from "../visible.ts";

const plan_help = `
Limits live decisions per calendar month in UTC. At the hard limit the service refuses new intents with 402 quota_exceeded.
Decisions already made this month count. Without --hard-limit the included number is also the limit.

Examples:
  $ countersign orgs plan org_01K… team --included 100000
  $ countersign orgs plan org_01K… team --included 100000 --hard-limit none
  $ countersign orgs plan org_01K… unlimited`;

/** Null: unlimited. */
type Amount = number | null;

/** Not null, because Commander turns a parsed null into an empty text. */
type Given = number | typeof none;
const none = "none";

export function addOrgs(program: Command, terminal: Terminal): void {
  const orgs = program.command("orgs").description("list organizations and set their plans");
  orgs
    .command("list")
    .description("list organizations with their plan and this month's use")
    .option("--json", "print JSON", false)
    .addHelpText("after", "\nExample:\n  $ countersign orgs list --json | jq length")
    .action(({ json }: { json: boolean }) => withInstance(terminal, (instance) => list(terminal, instance, json)));
  orgs
    .command("plan")
    .description("set the plan of an organization")
    .argument("<org_id>")
    .argument("<plan>", "the plan's name, as GET /v1/usage shows it", planName)
    .option("--included <n>", "live decisions a month that the plan includes, or none", amount)
    .option("--hard-limit <n>", "live decisions a month after which intents are refused, or none", amount)
    .addHelpText("after", plan_help)
    .action((org_id: string, plan_id: string, options: { included?: Given; hardLimit?: Given }) => {
      const { included = none, hardLimit = included } = options;
      const plan = { plan_id, included_actions: amountOf(included), hard_limit: amountOf(hardLimit) };
      return withInstance(terminal, (instance) => setPlan(terminal, instance, org_id, plan));
    });
}

function planName(text: string): string {
  if (text.trim() !== "" && [...text].length <= limits.label_chars_max) return text;
  throw new InvalidArgumentError(`give 1 to ${limits.label_chars_max} characters, not only white space.`);
}

function amount(text: string): Given {
  if (text === none) return none;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("give a whole number, or none.");
  return Number(text);
}

function amountOf(given: Given): Amount {
  return given === none ? null : given;
}

const shown = (value: Amount) => (value === null ? "unlimited" : value.toLocaleString("en-US"));

async function list(terminal: Terminal, instance: Instance, json: boolean): Promise<void> {
  const organizations = await instance.organizations.list();
  if (json) return terminal.print(visibleJson(organizations, 2));
  const head = ["ORGANIZATION", "NAME", "PLAN", "INCLUDED", "HARD LIMIT", "USED", "MONTH", "CREATED"];
  const rows = organizations.map((organization) => [
    organization.org_id,
    organization.name,
    organization.plan_id,
    shown(organization.included_actions),
    shown(organization.hard_limit),
    shown(organization.usage_used),
    organization.usage_period,
    organization.created_at.slice(0, 10),
  ]);
  terminal.print(formatTable([head, ...rows], [3, 4, 5]));
}

async function setPlan(
  terminal: Terminal,
  instance: Instance,
  org_id: string,
  plan: { readonly plan_id: string; readonly included_actions: Amount; readonly hard_limit: Amount },
): Promise<void> {
  await organizationNamed(instance, org_id);
  await instance.organizations.plan(org_id, plan);
  const { plan_id, included_actions, hard_limit } = plan;
  terminal.print(
    `${org_id} is on plan ${visible(plan_id)}: ${shown(included_actions)} included, hard limit ${shown(hard_limit)}`,
  );
}
