/**
 * `npm run bench -- <name> [options]` runs `bench/<name>/main.ts`. Every benchmark prints a table and takes `--json
 * FILE`. `--help` lists options.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
const [name, ...args] = process.argv.slice(2);
const names = readdirSync(here).filter((entry) => existsSync(join(here, entry, "main.ts")));

if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- <${names.join("|")}> [options]`);
  process.exit(2);
}

// `execArgv` passes the TypeScript loader on.
const child = spawn(process.execPath, [...process.execArgv, join(here, name, "main.ts"), ...args], {
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
