/** Compares decisions of organizations with and without a counter, on one service, in alternating rounds. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient } from "@countersign/sdk";
import type { LoadRequest } from "../http/load.ts";
import { type Measured, measure } from "../http/measure.ts";
import { startService } from "../http/service.ts";
import { median } from "../median.ts";
import { seedKeys } from "./seed.ts";

const help = `usage: npm run bench -- limits [options]

  --seconds N       measured seconds per target and round (default 8, after 2 s of warm-up)
  --rounds N        rounds, targets interleaved; medians are reported (default 3)
  --connections N   keep-alive connections, one request in flight on each (default 64)
  --keys N          live keys of the organization with many (default 1000000)
  --json FILE       also write the figures as JSON`;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    keys: { type: "string", default: "1000000" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const rule = { match: { actions: ["payment.*"] }, effect: "block", message: "Too much." };
const counter = { name: "spent", key: ["target.identifier"], value: "params.amount_usd", window: "5m" };
const plain = { ...rule, when: "params.amount_usd > 1000000.0" };
const counting = { ...rule, counters: [counter], when: "count.spent.sum > 1000000000.0" };

function body(target: string): object {
  return {
    intent: {
      agent: { id: "billing-agent" },
      action: { type: "payment.transfer", verb: "send_money", target: { type: "account", identifier: target } },
      payload: { content: { amount_usd: 12.5, currency: "USD" } },
    },
  };
}

const approved = { expect_body: '"verdict":"approve"' };
const singles = (targets: readonly string[]): LoadRequest[] =>
  targets.map((target) => ({ body: JSON.stringify(body(target)), expect_status: 201, expect_count: 1, ...approved }));
/** Fifty items on one key; the next batch is on the next key. */
const batches = (targets: readonly string[]): LoadRequest[] =>
  targets.map((target) => {
    const intents = Array.from({ length: 50 }, () => body(target));
    return { body: JSON.stringify({ intents }), expect_status: 200, expect_count: 50, ...approved };
  });
const names = (prefix: string, length: number) => Array.from({ length }, (_, n) => `${prefix}-${n}`);

/** Creates an organization with one policy in force, and returns its key. */
async function organization(url: string, spec: object): Promise<string> {
  const anonymous = createClient({ base_url: url });
  const given = { org_name: "Bench", email: "bench@example.com", description: "Load." };
  const { api_key, membrane_id } = await anonymous.quickstart(given);
  const client = createClient({ base_url: url, api_key });
  await client.changeMembrane(membrane_id, { packs: [] });
  await client.goLive(membrane_id);
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "bench" }, spec };
  const { policy_id } = await client.createPolicy({ policy });
  await client.activatePolicy(policy_id, "live");
  return api_key;
}

interface Target {
  readonly name: string;
  readonly key: string;
  readonly batch: boolean;
  readonly requests: (round: number) => LoadRequest[];
}

async function main(): Promise<void> {
  if (options.help) return console.log(help);
  const directory = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  const server = await startService({ data_dir: join(directory, "data"), log: join(directory, "countersign.log") });
  try {
    const [without, with_counter] = [await organization(server.url, plain), await organization(server.url, counting)];
    const many = await organization(server.url, counting);
    const keys = Number(options.keys);
    await seedKeys(join(directory, "data"), many, keys);
    const distinct = (round: number, length: number) =>
      names("seeded", length).map((_, n) => `seeded-${(round * length + n) % keys}`);
    const targets: Target[] = [
      { name: "single, no counter", key: without, batch: false, requests: () => singles(names("a", 1_000)) },
      { name: "single, one counter", key: with_counter, batch: false, requests: () => singles(names("a", 1_000)) },
      {
        name: `the same beside ${keys} live keys`,
        key: many,
        batch: false,
        requests: () => singles(names("a", 1_000)),
      },
      {
        name: "each on a live key that is not in memory",
        key: many,
        batch: false,
        requests: (round) => singles(distinct(round, 100_000)),
      },
      { name: "batch of 50, no counter", key: without, batch: true, requests: () => batches(names("b", 500)) },
      { name: "batch of 50 on one key", key: with_counter, batch: true, requests: () => batches(names("b", 500)) },
    ];
    const rounds = new Map<Target, Measured[]>(targets.map((target) => [target, []]));
    for (let round = 0; round < Number(options.rounds); round += 1)
      for (const target of targets) {
        const url = `${server.url}/v1/intents${target.batch ? "/batch" : ""}`;
        const terms = { connections: Number(options.connections), warmup_ms: 2000, requests_max: null };
        const load = { ...terms, url, headers: { "X-API-Key": target.key }, requests: target.requests(round) };
        const measured = await measure({ ...load, measured_ms: Number(options.seconds) * 1000 }, server.pid);
        rounds.get(target)?.push(measured);
        console.error(`round ${round + 1}: ${target.name}: ${figures(target, [measured])}`);
      }
    report(rounds);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

const rateOf = ({ batch }: Target, { answers_per_s }: Measured): number => answers_per_s * (batch ? 50 : 1);

function figures(target: Target, rounds: readonly Measured[]): string {
  const rate = median(rounds.map((each) => rateOf(target, each)));
  const [p50, p99] = [median(rounds.map(({ p50_ms }) => p50_ms)), median(rounds.map(({ p99_ms }) => p99_ms))];
  const cpu = median(rounds.map((each) => ((each.cpu_server + each.cpu_children) * 1e6) / rateOf(target, each)));
  const wrong = rounds.reduce((sum, each) => sum + each.wrong, 0);
  const first = rounds.find(({ first_wrong }) => first_wrong !== null)?.first_wrong ?? "";
  const faults = wrong === 0 ? "" : `, ${wrong} WRONG: ${first.slice(0, 300)}`;
  const ours = median(rounds.map((each) => (each.cpu_server * 1e6) / rateOf(target, each)));
  return `${Math.round(rate)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${Math.round(cpu)} µs of processor time (${Math.round(ours)} of them in the service)${faults}`;
}

function report(rounds: ReadonlyMap<Target, readonly Measured[]>): void {
  const all = [...rounds];
  for (const [target, measured] of all) console.log(`${target.name.padEnd(44)} ${figures(target, measured)}`);
  const rate = (place: number): number => {
    const [target, measured] = all[place] as (typeof all)[number];
    return median(measured.map((each) => rateOf(target, each)));
  };
  const p99 = (place: number): number => median((all[place] as (typeof all)[number])[1].map(({ p99_ms }) => p99_ms));
  console.log(`one counter ÷ none: ${(rate(1) / rate(0)).toFixed(2)} (asked: 0.85)`);
  console.log(`many keys: p99 ${(p99(2) - p99(1)).toFixed(1)} ms more (asked: at most 1)`);
  console.log(`keys not in memory: p99 ${(p99(3) - p99(1)).toFixed(1)} ms more`);
  console.log(`batch on one key ÷ none: ${(rate(5) / rate(4)).toFixed(2)} (asked: 0.7)`);
  const written = all.map(([{ name }, measured]) => ({ name, measured }));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(written, null, 2)}\n`);
}

await main();
