import type { Rollout, RolloutInput, RolloutStage } from "@countersign/contract";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible, visibleJson } from "../../visible.ts";
import { wholeFrom } from "../../whole-number.ts";

interface ShowOptions extends ServiceOptions {
  readonly json: boolean;
}

interface PlanOptions extends ServiceOptions {
  readonly stage?: readonly RolloutStage[];
  readonly holdsPerDay?: number;
  readonly overridden?: number;
  readonly timedOut?: number;
  readonly advancesItself: boolean;
  readonly returnsHolds: boolean;
}

interface ReasonOptions extends ServiceOptions {
  readonly reason: string;
}

interface ReturnOptions extends ReasonOptions {
  readonly stage: number;
}

const plan_help = `
Replaces the plan. The membrane must be in shadow: going live begins the rollout. Without --stage there are three stages: 5 %, 25 % and
100 % of the registered agents.

Example:
  $ countersign rollouts plan mem_01K… --stage 0.05:100:24 --stage 1:1000:72 --holds-per-day 20 --returns-holds`;

export function addRollouts(program: Command, terminal: Terminal): void {
  const rollouts = program.command("rollouts").description("membranes that enforce for more and more agents");
  const command = (name: string, description: string, key: "reviewer key" | "admin key", example: string) =>
    rollouts
      .command(`${name} <membrane_id>`)
      .description(description)
      .addOption(urlOption())
      .addOption(keyOption(key))
      .addHelpText("after", `\nExample:\n  $ countersign rollouts ${name} mem_01K…${example}`);
  const why = ["--reason <text>", "why; written to the audit trail"] as const;
  command("show", "show the stage of a rollout, what its guard saw, and which limits are broken", "reviewer key", "")
    .option("--json", "print JSON", false)
    .action((id: string, options: ShowOptions) => show(terminal, id, options));
  addPlan(rollouts, terminal);
  command("advance", "enforce for the next share of agents", "admin key", ' --reason "the rule is mended"')
    .option(why[0], `${why[1]}; required if the rollout was stopped`)
    .action((id: string, { reason, ...service }: Partial<ReasonOptions>) =>
      change(terminal, service, (client) => client.advanceRollout(id, reason === undefined ? {} : { reason })),
    );
  command("stop", "stop the advance; the present share stays enforced", "admin key", ' --reason "a holiday"')
    .requiredOption(...why)
    .action((id: string, { reason, ...service }: ReasonOptions) =>
      change(terminal, service, (client) => client.stopRollout(id, { reason })),
    );
  command(
    "return",
    "return to an earlier stage, and stop there",
    "admin key",
    ' --stage 1 --reason "it blocks refunds"',
  )
    .requiredOption("--stage <n>", "an earlier stage; 1 is the first", wholeFrom(1, 100))
    .requiredOption(...why)
    .action((id: string, { stage, reason, ...service }: ReturnOptions) =>
      change(terminal, service, (client) => client.returnRollout(id, { stage, reason })),
    );
  command("remove", "remove the plan of a membrane in shadow", "admin key", "").action(
    async (id: string, service: ServiceOptions) => {
      await answered(() => serviceClient(terminal, service).removeRollout(id));
      terminal.print("the plan is removed: the membrane goes live for all agents");
    },
  );
}

function addPlan(rollouts: Command, terminal: Terminal): void {
  rollouts
    .command("plan <membrane_id>")
    .description("plan to enforce decisions for more and more agents")
    .option("--stage <share:decisions:hours>", "a stage, and what it must see; once for each stage", addStage)
    .option("--holds-per-day <n>", "the guard stops above this many held actions a day (default: 50)", numberIn)
    .option("--overridden <share>", "the guard stops above this share of overridden blocks (default: 0.1)", numberIn)
    .option("--timed-out <share>", "the guard stops above this share of timed-out reviews (default: 0.1)", numberIn)
    .option("--advances-itself", "begin the next stage when a stage is complete", false)
    .option("--returns-holds", "return the stage's holds to shadow when the guard finds too many", false)
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", plan_help)
    .action((id: string, options: PlanOptions) => {
      const { stage, holdsPerDay, overridden, timedOut, advancesItself, returnsHolds, ...service } = options;
      const guard = {
        ...(holdsPerDay !== undefined && { holds_per_day_max: holdsPerDay }),
        ...(overridden !== undefined && { overridden_share_max: overridden }),
        ...(timedOut !== undefined && { timed_out_share_max: timedOut }),
      };
      const input: RolloutInput = {
        ...(stage !== undefined && { stages: [...stage] }),
        ...{ guard, advances_itself: advancesItself, returns_holds_itself: returnsHolds },
      };
      return change(terminal, service, (client) => client.planRollout(id, input));
    });
}

function addStage(text: string, before: readonly RolloutStage[] = []): readonly RolloutStage[] {
  const [share, decisions_min, hours_min] = /^[\d.]+:\d+:\d+$/.test(text) ? text.split(":").map(Number) : [];
  if (share === undefined || decisions_min === undefined || hours_min === undefined || Number.isNaN(share))
    throw new InvalidArgumentError("give share, decisions and hours, such as 0.05:100:24.");
  return [...before, { share, decisions_min, hours_min }];
}

function numberIn(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError("give a number, such as 0.1.");
  return Number(text);
}

async function show(terminal: Terminal, membrane_id: string, { json, ...service }: ShowOptions): Promise<void> {
  const rollout = await answered(() => serviceClient(terminal, service).getRollout(membrane_id));
  if (rollout === undefined) throw new CommandFailed(strangerText(""));
  if (json) terminal.print(visibleJson(rollout));
  else terminal.print(rollout === null ? "this membrane has no rollout" : shownText(rollout));
}

async function change(
  terminal: Terminal,
  service: ServiceOptions,
  call: (client: ReturnType<typeof serviceClient>) => Promise<Rollout>,
): Promise<void> {
  const rollout = await answered(() => call(serviceClient(terminal, service)));
  if (rollout === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(shownText(rollout));
}

const percent = (share: number): string => `${(100 * share).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
const rounded = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 1 });

function shownText(rollout: Rollout): string {
  const { agents, breaches, complete, figures, guard, requested_return, share, stage, stages, status } = rollout;
  const { holds, overridden, timed_out } = figures;
  const part = ({ count, of, low, high }: typeof overridden) => [
    `${count} of ${of}`,
    `${percent(low)} to ${percent(high)}`,
  ];
  const a_day = holds.high === null ? "" : `${rounded(holds.low)} to ${rounded(holds.high)} a day`;
  const row = (name: string, seen: string[], limit: string, towards_stop: number) => [
    ...[name, ...seen, limit, percent(towards_stop)],
  ];
  const lines = [
    `${status}: stage ${stage} of ${stages.length}${complete && status === "running" ? ", complete" : ""}`,
    `enforced for ${percent(share)} of registered agents (${agents.enforced} of ${agents.registered})`,
    ...(rollout.holds_share < share ? [`held only for ${percent(rollout.holds_share)}: the guard returned holds`] : []),
    ...breaches.map(({ message }) => `broken: ${message}`),
    ...(requested_return === null
      ? []
      : [`a return to stage ${requested_return.stage} waits for a second person: ${requested_return.reason}`]),
    `${figures.decisions.toLocaleString("en")} decisions in ${rounded(figures.days)} days`,
  ];
  return `${lines.map(visible).join("\n")}\n${formatTable([
    ["", "seen", "95 % sure", "stops above", "evidence"],
    row("held", [String(holds.count), a_day], `${rounded(guard.holds_per_day_max)} a day`, holds.towards_stop),
    row("blocks overridden", part(overridden), percent(guard.overridden_share_max), overridden.towards_stop),
    row("reviews timed out", part(timed_out), percent(guard.timed_out_share_max), timed_out.towards_stop),
  ])}`;
}
