import { setTimeout as sleep } from "node:timers/promises";
import type { Backtest, BacktestInput } from "@countersign/contract";
import { type Command, CommanderError } from "commander";
import { fail_on_grammar, parseFailOn } from "../backtest/fail-on.ts";
import { startBacktestProgress } from "../backtest/progress.ts";
import { reportOf } from "../backtest/report.ts";
import { CommandFailed } from "../command-failed.ts";
import { givenTime } from "../given-time.ts";
import { onInterrupt } from "../interrupt.ts";
import { readPolicyFiles } from "../policy-documents.ts";
import { keyOption, refusalText, type ServiceOptions, serviceClient, strangerText, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";

interface Options extends ServiceOptions {
  readonly from?: string;
  readonly to?: string;
  readonly membrane?: string;
  readonly agent?: string;
  readonly limit?: string;
  readonly pack: readonly string[];
  /** False if the candidate has no packs. */
  readonly packs: boolean;
  readonly escalateAt?: string;
  readonly blockAt?: string;
  readonly without: readonly string[];
  readonly failOn: readonly string[];
  readonly keep: boolean;
  readonly json: boolean;
}

const help = `
Each FILE is a policy document in YAML or JSON. It replaces your policy of the same name, or is added. --pack and --no-packs
replace the packs of every membrane, --escalate-at and --block-at the thresholds. All else stays as at each decision. Without
any of these, the recorded decisions are reproduced. Nothing is saved, except with --keep.

${fail_on_grammar}

Examples:
  $ countersign policies backtest wires.yaml
  $ countersign policies backtest policies/*.yaml --from 2026-10-01 --fail-on 'approve->block>0'
  $ countersign policies backtest --escalate-at 0.5 --block-at none
  $ countersign policies backtest wires.yaml --keep
  $ countersign policies backtest --without gdpr.lawful-basis --without wire-limit
  $ countersign policies backtest wires.yaml --fail-on 'any->escalate>=2%' --fail-on 'human_agreement<0.95' --json

Exit code: 0, 1 if a --fail-on condition is met, 2 without a result (wrong options, wrong documents, no answer),
130 if interrupted.`;

const days_default = 30;
const more = (value: string, before: readonly string[]) => [...before, value];

export function addBacktest(policies: Command, terminal: Terminal): void {
  policies
    .command("backtest")
    .description("test policies on intents that a running service has recorded")
    .argument("[file...]")
    .addOption(urlOption())
    .addOption(keyOption())
    .option("--from <time>", `RFC 3339, or a date (default: ${days_default} days ago)`)
    .option("--to <time>", "RFC 3339, or a date; not included (default: now)")
    .option("--membrane <id>", "only decisions of this membrane")
    .option("--agent <id>", "only this agent's intents")
    .option("--limit <n>", "only the newest intents, at most this many")
    .option("--pack <name>", "use this pack instead of the membrane's packs; may be repeated", more, [])
    .option("--no-packs", "use none of the membrane's packs")
    .option("--escalate-at <score>", "risk from which people review, 0 to 1 or none")
    .option("--block-at <score>", "risk from which actions are blocked, 0 to 1 or none")
    .option("--without <name>", "a policy or rule to leave out; may be repeated", more, [])
    .option("--fail-on <condition>", "exit with 1 if the condition is met; may be repeated", more, [])
    .option("--keep", "keep the result, and print its address in the console", false)
    .option("--json", "print JSON", false)
    .addHelpText("after", help)
    .exitOverride(({ code, exitCode, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : 2, code, message);
    })
    .action(async (files: string[], options: Options) => {
      try {
        terminal.exitCode = await backtest(terminal, files, options);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const interrupted = error.name === "AbortError";
        terminal.printError(`countersign: ${interrupted ? "interrupted" : (refusalText(error) ?? error.message)}`);
        terminal.exitCode = interrupted ? 130 : 2;
      }
    });
}

async function backtest(terminal: Terminal, files: readonly string[], options: Options): Promise<number> {
  const conditions = options.failOn.map(parseFailOn);
  const input = await inputOf(files, options);
  const interrupt = new AbortController();
  const endInterrupt = onInterrupt(terminal, () => interrupt.abort());
  const progress = startBacktestProgress(terminal.stderr);
  let limited = false;
  const client = serviceClient(terminal, options, {
    fetch: async (...request) => {
      limited = false;
      const response = await fetch(...request);
      limited = response.status === 429;
      return response;
    },
    wait: async (wait_ms, signal) => {
      if (limited) progress.waiting(Math.ceil(wait_ms / 1000));
      await sleep(wait_ms, undefined, signal === undefined ? {} : { signal });
      progress.waiting(null);
    },
  });
  let result: Backtest;
  try {
    result = await client.backtest(input, { on_progress: (each) => progress.report(each), signal: interrupt.signal });
  } finally {
    progress.end();
    endInterrupt();
  }
  if (result === undefined) throw new CommandFailed(strangerText(""));
  const judged = conditions.map(({ text, judge }) => ({ condition: text, ...judge(result) }));
  if (options.json) terminal.print(JSON.stringify({ backtest: result, fail_on: judged }, null, 2));
  else {
    terminal.print(reportOf(result));
    for (const { condition, met, value } of judged)
      terminal.print(
        `\n${met ? "FAILED" : "ok"}: ${condition} (${value === null ? "there is no such figure" : value})`,
      );
    if (options.keep) terminal.print(`\nkept at /backtests/${result.backtest_id}`);
  }
  return judged.some(({ met }) => met) ? 1 : 0;
}

async function inputOf(files: readonly string[], options: Options): Promise<BacktestInput> {
  const now_ms = Date.now();
  const from = options.from ?? new Date(now_ms - days_default * 86_400_000).toISOString();
  const to = options.to ?? new Date(now_ms + 1_000).toISOString();
  const limit = options.limit === undefined ? undefined : Number(options.limit);
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0))
    throw new CommandFailed("--limit takes a whole number from 1");
  const policies = (await readPolicyFiles(files)).map(({ document }) => ({ ...document }));
  const { without } = options;
  const packs = packsOf(options);
  const thresholds = thresholdsOf(options);
  const candidate = {
    ...(policies.length === 0 ? {} : { policies }),
    ...(packs === null ? {} : { packs }),
    ...(thresholds === null ? {} : { thresholds }),
    ...(without.length === 0 ? {} : { without: [...without] }),
  };
  return {
    ...(Object.keys(candidate).length === 0 ? {} : { candidate }),
    window: { from: await givenTime("--from", from), to: await givenTime("--to", to) },
    ...(options.membrane === undefined ? {} : { membrane_id: options.membrane }),
    ...(options.agent === undefined ? {} : { agent_id: options.agent }),
    ...(limit === undefined ? {} : { limit }),
    ...(options.keep ? { keep: true } : {}),
  };
}

/** Null keeps the membrane's packs. */
function packsOf({ pack, packs }: Options): string[] | null {
  if (pack.length > 0 && !packs) throw new CommandFailed("give either --pack or --no-packs");
  return pack.length > 0 ? [...pack] : packs ? null : [];
}

/** A missing option keeps that threshold; null keeps both. */
function thresholdsOf({
  escalateAt,
  blockAt,
}: Options): { escalate_at?: number | null; block_at?: number | null } | null {
  if (escalateAt === undefined && blockAt === undefined) return null;
  return {
    ...(escalateAt === undefined ? {} : { escalate_at: scoreOf("--escalate-at", escalateAt) }),
    ...(blockAt === undefined ? {} : { block_at: scoreOf("--block-at", blockAt) }),
  };
}

function scoreOf(option: string, text: string): number | null {
  if (text === "none") return null;
  const score = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(score >= 0 && score <= 1))
    throw new CommandFailed(`${option} takes a number from 0 to 1, or none, not ${text}`);
  return score;
}
