/**
 * Sends a hundred large bodies at once with one key. Prints for each shape how long another organization's small
 * actions and /healthz waited, without and with them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient } from "@countersign/sdk";
import { startService } from "../http/service.ts";
import { median } from "../median.ts";
import { type Shape, shapes } from "./shapes.ts";

const help = `usage: npm run bench -- hostile [options]

  --shapes LIST   of ${shapes.join(",")} (default all)
  --bodies N      bodies sent at once (default 100)`;

const { values: options } = parseArgs({
  options: {
    shapes: { type: "string", default: shapes.join(",") },
    bodies: { type: "string", default: "100" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  console.log(help);
  process.exit(0);
}

async function sample(url: string, init: RequestInit, goes: () => boolean, pause_ms: number): Promise<number[]> {
  const waited: number[] = [];
  while (goes()) {
    const begun = performance.now();
    const response = await fetch(url, init);
    await response.text();
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    waited.push(performance.now() - begun);
    await sleep(pause_ms);
  }
  return waited;
}

interface Beside {
  readonly healthz: number[];
  readonly decisions: number[];
}

async function others(base: string, api_key: string, over: Promise<unknown>): Promise<Beside> {
  let goes = true;
  void over.then(() => {
    goes = false;
  });
  const body = JSON.stringify({ intent: { agent: { id: "other" }, action: { type: "other.test", verb: "test" } } });
  const headers = { "Content-Type": "application/json", "X-API-Key": api_key };
  const [healthz, decisions] = await Promise.all([
    sample(`${base}/healthz`, {}, () => goes, 5),
    sample(`${base}/v1/intents`, { method: "POST", headers, body }, () => goes, 5),
  ]);
  return { healthz, decisions };
}

function attack(base: string, api_key: string, shape: Shape): ChildProcess {
  const script = join(import.meta.dirname, "attack.ts");
  const args = [...process.execArgv, script, base, api_key, shape, options.bodies];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

const directory = mkdtempSync(join(tmpdir(), "countersign-bench-"));
// Raises the other organization's rate limits.
const server = await startService({ data_dir: join(directory, "data"), log: join(directory, "countersign.log") });
const newKey = async (org_name: string) => {
  const client = createClient({ base_url: server.url });
  const { api_key } = await client.quickstart({ org_name, email: "bench@example.com", description: "Load." });
  return api_key;
};

try {
  const other = await newKey("Other");
  const rows = [];
  await others(server.url, other, sleep(2_000));
  for (const shape of options.shapes.split(",") as Shape[]) {
    const key = await newKey(`Hostile ${shape}`);
    const alone = await others(server.url, other, sleep(2_000));
    const child = attack(server.url, key, shape);
    const printed = once(child.stdout as NodeJS.ReadableStream, "data");
    const measured = await others(server.url, other, printed);
    const [line] = (await printed) as [Buffer];
    const { statuses, bytes, ms } = JSON.parse(String(line));
    rows.push({
      shape,
      KiB: Math.round(bytes / 1024),
      statuses: JSON.stringify(statuses),
      "all answered, ms": Math.round(ms),
      "healthz max, ms": Math.round(Math.max(...measured.healthz)),
      "other's p50 alone, ms": Number(median(alone.decisions).toFixed(1)),
      "beside, ms": Number(median(measured.decisions).toFixed(1)),
      ratio: Number((median(measured.decisions) / median(alone.decisions)).toFixed(1)),
      "other's max, ms": Math.round(Math.max(...measured.decisions)),
    });
  }
  console.table(rows);
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
