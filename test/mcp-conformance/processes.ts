/** Starts the programs of the suite. */
import { type ChildProcess, spawn } from "node:child_process";
import { environment } from "./through.ts";

type Command = readonly [string, ...string[]];

function start([command, ...args]: Command, more: Readonly<Record<string, string>> = {}): ChildProcess {
  return spawn(command, args, { env: { ...environment, ...more }, stdio: ["ignore", "pipe", "pipe"] });
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function collected(child: ChildProcess): { readonly texts: { stdout: string; stderr: string }; ended: Promise<Ended> } {
  const texts = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]?.setEncoding("utf8").on("data", (text: string) => {
      texts[stream] += text;
    });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject).once("close", (code) => resolve({ code, ...texts }));
  });
  return { texts, ended };
}

/** Runs a program to its end. */
export function runToEnd(command: Command, more?: Readonly<Record<string, string>>): Promise<Ended> {
  return collected(start(command, more)).ended;
}

/** Starts a program that prints `listening on URL`. */
export async function startListening(command: Command): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = start(command);
  const { texts, ended } = collected(child);
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  const url = new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const [, found] = /^listening on (\S+)\n/m.exec(texts.stdout) ?? [];
      if (found !== undefined) resolve(found);
    });
    ended.then(({ stderr }) => reject(new Error(`${command.join(" ")} ended:\n${stderr}`)), reject);
  });
  return { url: await url, stop };
}
