/** Countersign as a user starts it: the program, its embedded PostgreSQL with fsync, an API key. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@countersign/sdk";
import type { LoadOrder, LoadRequest } from "./load.ts";
import { benchFacts, benchPolicies, measured_action, payments } from "./policies.ts";
import type { Started } from "./processes.ts";
import { startService } from "./service.ts";

export interface CountersignTarget {
  readonly server: Started;
  readonly single: Pick<LoadOrder, "url" | "headers" | "requests">;
  readonly batch: Pick<LoadOrder, "url" | "headers" | "requests">;
  /** Sum over all labels. */
  metric(name: string): Promise<number>;
  /** As the database counts them. */
  storedDecisions(): Promise<number>;
  /** Without the write-ahead log. */
  databaseBytes(): number;
}

const pack_name = "bench";

function submission(n: number) {
  const payment = payments[n % payments.length];
  if (payment === undefined) throw new Error("no payments");
  const intent = {
    agent: { id: "billing-agent", session_id: `s${n}` },
    action: { type: measured_action, verb: "send_money", target: { type: "account", identifier: `acc-${n}` } },
    payload: { summary: "Pay an invoice", content: payment.params },
    estimated_impact: { reversible: false, financial_exposure_usd: payment.params.amount_usd },
  };
  return { body: { intent, context: { contract_version: "1", facts: benchFacts } }, verdict: payment.verdict };
}

export function singleRequests(): LoadRequest[] {
  return payments.map((_, n) => {
    const { body, verdict } = submission(n);
    return { body: JSON.stringify(body), expect_status: 201, expect_body: `"verdict":"${verdict}"`, expect_count: 1 };
  });
}

/** Batches of fifty. Every answer is checked for its number of approvals. */
function batchRequests(): LoadRequest[] {
  return Array.from({ length: 16 }, (_, batch) => {
    const items = Array.from({ length: 50 }, (_, n) => submission(batch * 50 + n));
    const approvals = items.filter((item) => item.verdict === "approve").length;
    const body = JSON.stringify({ intents: items.map((item) => item.body) });
    return { body, expect_status: 200, expect_body: '"verdict":"approve"', expect_count: approvals };
  });
}

function tableBytes(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const ofTables = files.filter((file) => file.isFile() && file.parentPath.includes("/base/"));
  return ofTables.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

function writePack(directory: string): string {
  const packs = join(directory, "packs");
  const folder = join(packs, pack_name);
  mkdirSync(join(folder, "policies"), { recursive: true });
  const names = benchPolicies.map((policy) => `${pack_name}.${policy.name}`);
  const metadata = {
    name: pack_name,
    title: "Benchmark",
    description: "Fifty policies.",
    version: "1.0.0",
    verified_on: "2026-11-21",
  };
  const categories = ["entity_state", "identity", "organizational", "security"];
  const facts_from = Object.fromEntries(categories.map((category) => [category, "attested"]));
  const manifest = { apiVersion: "countersign/v1", kind: "Pack", metadata, spec: { facts_from, policies: names } };
  writeFileSync(join(folder, "pack.yaml"), JSON.stringify(manifest)); // JSON is valid YAML.
  writeFileSync(join(folder, "cases.jsonl"), "");
  for (const [n, { action, effect, when }] of benchPolicies.entries()) {
    const spec = { match: { actions: [action] }, when, effect, risk: { add: 0.3, group: action.split(".")[0] } };
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: names[n] }, spec };
    writeFileSync(join(folder, "policies", `${names[n]}.yaml`), JSON.stringify(policy));
  }
  return packs;
}

/** Starts with an empty database, a live key, and one live membrane with the pack. */
export async function startCountersign(directory: string): Promise<CountersignTarget> {
  const server = await startService({
    data_dir: join(directory, "data"),
    log: join(directory, "countersign.log"),
    packs: writePack(directory),
  });
  const anonymous = createClient({ base_url: server.url });
  const { api_key, membrane_id } = await anonymous.quickstart({
    org_name: "Bench",
    email: "bench@example.com",
    description: "Load.",
  });
  const client = createClient({ base_url: server.url, api_key });
  await client.changeMembrane(membrane_id, { packs: [pack_name] });
  await client.goLive(membrane_id);
  const headers = { "X-API-Key": api_key };
  return {
    server,
    single: { url: `${server.url}/v1/intents`, headers, requests: singleRequests() },
    batch: { url: `${server.url}/v1/intents/batch`, headers, requests: batchRequests() },
    metric: async (name) => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const values = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      if (values.length === 0) throw new Error(`/metrics has no ${name}`);
      return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    storedDecisions: async () => {
      const { used_actions } = await client.getUsage(); // Live decisions, counted at each commit.
      return used_actions;
    },
    databaseBytes: () => tableBytes(join(directory, "data")),
  };
}
