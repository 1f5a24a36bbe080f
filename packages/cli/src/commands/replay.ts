import { once } from "node:events";
import { createWriteStream, existsSync, type WriteStream } from "node:fs";
import { readFile, stat, truncate } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { unwritable } from "../file-fault.ts";
import { onInterrupt } from "../interrupt.ts";
import { startProgress } from "../replay/progress.ts";
import { checkRecording, type RecordedCall, readRecording } from "../replay/recording.ts";
import { type ReplayResult, replay } from "../replay/replay.ts";
import { summaryText } from "../replay/summary.ts";
import { keyOption, type ServiceOptions, serviceAddress, serviceClient, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { wholeFrom } from "../whole-number.ts";

interface ReplayOptions extends ServiceOptions {
  readonly batch: number;
  readonly concurrency: number;
  readonly mode?: string;
  readonly out?: string;
  readonly resume: boolean;
  readonly json: boolean;
}

const help = `
A line of FILE is {"call": <number>, "body": {"intent": {…}, "context"?: {…}}}, or only a submission body.
Each run decides every call again. --out keeps the verdicts, and --resume continues where the last run stopped.

Examples:
  $ countersign replay calls.jsonl.gz
  $ countersign replay calls.jsonl.gz --out verdicts.jsonl --resume
  $ countersign replay calls.jsonl --url https://countersign.example --mode shadow --json

Exit code: 0 when every call has a verdict, 1 otherwise, 130 when interrupted.`;

export function addReplay(program: Command, terminal: Terminal): void {
  program
    .command("replay")
    .description("post recorded intents to a running service and count the verdicts")
    .argument("<file>", "JSON lines, plain or gzip")
    .addOption(urlOption())
    .addOption(keyOption())
    .option(
      "--batch <n>",
      "calls in one request, 1 to 50; a request counts once against the rate limit",
      wholeFrom(1, 50),
      50,
    )
    .option("--concurrency <n>", "requests in flight at once", wholeFrom(1, 64), 4)
    .option("--mode <mode>", "`shadow`: decide without enforcing, whatever the membrane says")
    .option("--out <file>", 'write {"call", "verdict"} per line, in the order of the recording')
    .option("--resume", "skip calls that --out already contains, and append to it", false)
    .option("--json", "print the summary as JSON", false)
    .addHelpText("after", help)
    .action(async (file: string, options: ReplayOptions) => {
      terminal.exitCode = await replayFile(terminal, file, options);
    });
}

async function replayFile(terminal: Terminal, file: string, options: ReplayOptions): Promise<number> {
  if (options.mode !== undefined && options.mode !== "shadow") throw new CommandFailed("--mode takes `shadow` only");
  if (options.resume && options.out === undefined)
    throw new CommandFailed("--resume needs --out, which lists the finished calls");
  const inFile = await checkRecording(file);
  if (inFile === 0)
    throw new CommandFailed(
      `${file} contains no calls: give a recording, a line of JSON for each call (replay --help shows one)`,
    );
  if (options.out !== undefined && (await isSameFile(file, options.out)))
    throw new CommandFailed(`${options.out} is the recording itself: give another --out for the verdicts`);
  const done = options.resume ? await callsIn(options.out as string) : new Set<number>();

  const interrupt = new AbortController();
  const { signal } = interrupt;
  const endInterrupt = onInterrupt(terminal, () => interrupt.abort());
  const out = options.out === undefined ? null : await openOut(options.out, options.resume ? "a" : "w");
  // Stops, because further verdicts would be lost.
  out?.on("error", () => interrupt.abort());
  const progress = startProgress(inFile - done.size, terminal.stderr);
  const from_ms = performance.now();
  const waiting = stopwatch();
  let result: ReplayResult;
  try {
    result = await replay(
      {
        calls: notIn(done, readRecording(file)),
        batch: options.batch,
        concurrency: options.concurrency,
        onResult: ({ call, verdict }) => {
          progress.step();
          if (verdict !== null) out?.write(`${JSON.stringify({ call, verdict })}\n`);
        },
      },
      {
        client: serviceClient(terminal, options, { retries_max: 0 }),
        mode: options.mode,
        signal,
        pause: async (wait_ms, why) => {
          if (why === "retry") return sleep(wait_ms, undefined, { signal });
          if (waiting.begin()) progress.waiting(Math.ceil(wait_ms / 1000));
          await sleep(wait_ms, undefined, { signal }).finally(() => waiting.end() && progress.waiting(null));
        },
      },
    );
  } finally {
    progress.end();
    endInterrupt();
    if (out !== null) await new Promise((resolve) => out.end(resolve));
  }
  if (out?.errored != null)
    throw new CommandFailed(
      `${options.out} cannot be written (${out.errored.message}): calls without a verdict there are sent again with --resume`,
    );
  const elapsed_ms = performance.now() - from_ms;
  const about = {
    file: basename(file),
    url: serviceAddress(terminal, options),
    batch: options.batch,
    skipped: done.size,
    elapsed_ms,
    waited_ms: waiting.total_ms(),
  };
  terminal.print(options.json ? JSON.stringify({ ...about, ...result }) : summaryText(about, result));
  if (signal.aborted) {
    const again = options.out === undefined ? "" : "; run it again with --resume to continue";
    terminal.printError(`countersign: interrupted${again}`);
    return 130;
  }
  return result.failed === 0 ? 0 : 1;
}

async function openOut(path: string, flags: "a" | "w"): Promise<WriteStream> {
  const out = createWriteStream(path, { flags });
  await once(out, "open").catch((error: unknown) => {
    throw unwritable(path, error);
  });
  return out;
}

/** Returns whether both paths lead to the same existing file. */
async function isSameFile(path: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([path, other].map((each) => stat(each).catch(() => null)));
  return one != null && two != null && one.dev === two.dev && one.ino === two.ino;
}

/** Returns the calls with a verdict from an earlier run. Removes an incomplete last line. */
async function callsIn(path: string): Promise<Set<number>> {
  if (!existsSync(path)) return new Set();
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw unwritable(path, error);
  });
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const calls = whole
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const call = /^\{"call":(\d+),"verdict":"\w+"\}$/.exec(line)?.[1];
      if (call === undefined)
        throw new CommandFailed(`${path} contains a line that is not a verdict: ${line.slice(0, 80)}`);
      return Number(call);
    });
  await truncate(path, Buffer.byteLength(whole));
  return new Set(calls);
}

/** Measures the time during which at least one task ran. `begin` and `end` return whether it was the first or last. */
function stopwatch() {
  let running = 0;
  let began_ms = 0;
  let total_ms = 0;
  return {
    begin: () => {
      if (running === 0) began_ms = performance.now();
      running += 1;
      return running === 1;
    },
    end: () => {
      running -= 1;
      if (running === 0) total_ms += performance.now() - began_ms;
      return running === 0;
    },
    total_ms: () => total_ms,
  };
}

async function* notIn(done: ReadonlySet<number>, calls: AsyncIterable<RecordedCall>): AsyncGenerator<RecordedCall> {
  for await (const each of calls) if (!done.has(each.call)) yield each;
}
