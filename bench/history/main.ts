/**
 * Measures the first page of every list and the overview over HTTP, with a long history and 10 % of it. No time may
 * grow with the history.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { createClient } from "@countersign/sdk";
import { median } from "../median.ts";
import { withHistory } from "./with-history.ts";

const help = `usage: npm run bench -- history [options]

  --decisions N    of the long history (default 1000000; 2.4 KB of disk each)
  --requests N     per list; medians are reported (default 21)
  --json FILE      also write the figures as JSON
  --directory DIR  where the database is made (default: the folder for temporary files)`;

const { values: options } = parseArgs({
  options: {
    decisions: { type: "string", default: "1000000" },
    requests: { type: "string", default: "21" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const goal_ms = 50;

/** `agent` and `key` have few and old rows. */
function requests({ agent, key }: { readonly agent: string; readonly key: string }): [name: string, path: string][] {
  const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  return [
    ["decisions", "/v1/intents"],
    ["decisions, blocked", "/v1/intents?verdict=block"],
    ["decisions, modified (none)", "/v1/intents?verdict=approve_modified"],
    ["decisions, of a rare agent", `/v1/intents?agent_id=${agent}`],
    ["decisions, of an unknown agent", "/v1/intents?agent_id=nobody"],
    ["decisions, in test mode (none)", "/v1/intents?mode=test"],
    ["decisions, in shadow (few)", "/v1/intents?mode=shadow"],
    ["decisions, of a day long ago", `/v1/intents?from=${day(20)}&to=${day(19)}`],
    ["decisions, of a rule (none)", "/v1/intents?rule=nothing"],
    ["decisions, that wait", "/v1/intents?outcome=waiting"],
    ["decisions, contradicted (none)", "/v1/intents?outcome=contradicted"],
    ["audit trail", "/v1/audit"],
    ["audit trail, submitted", "/v1/audit?type=submitted"],
    ["audit trail, escalated", "/v1/audit?type=escalated"],
    ["audit trail, keys created", "/v1/audit?type=key_created"],
    ["audit trail, overrides spent (none)", "/v1/audit?type=override_spent"],
    ["audit trail, of a new key", `/v1/audit?actor=${key}`],
    ["audit trail, of a day long ago", `/v1/audit?from=${day(20)}&to=${day(19)}`],
    ["escalations, pending", "/v1/escalations?status=pending"],
    ["escalations, all", "/v1/escalations"],
    ["escalations, timed out (few)", "/v1/escalations?status=timed_out"],
    ["escalations, of a rare agent", `/v1/escalations?agent_id=${agent}`],
    ["overrides", "/v1/overrides"],
    ["keys", "/v1/api-keys"],
    ["people", "/v1/people"],
    ["policies", "/v1/policies"],
    ["webhooks", "/v1/escalations/webhooks"],
    ["failed deliveries", "/v1/escalations/webhooks/deliveries/failed"],
    ["overview, a day", "/v1/overview"],
    ["overview, a week", `/v1/overview?from=${day(7)}`],
    ["overview, 31 days", `/v1/overview?from=${day(30.9)}`],
  ];
}

interface Target {
  readonly url: string;
  readonly api_key: string;
  readonly agent: string;
  readonly key: string;
}

async function timesOf({ url, api_key, agent, key }: Target): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const [name, path] of requests({ agent, key })) {
    const each: number[] = [];
    for (let n = 0; n < Number(options.requests); n += 1) {
      const began_ms = performance.now();
      const response = await fetch(`${url}${path}`, { headers: { "X-API-Key": api_key } });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
      each.push(performance.now() - began_ms);
    }
    times.set(name, median(each));
  }
  return times;
}

function measure(decisions: number): Promise<Map<string, number>> {
  return withHistory({ decisions, directory: options.directory }, async ({ url, api_key, agent }) => {
    const { key_id } = await createClient({ base_url: url, api_key }).createApiKey({ role: "auditor" });
    return timesOf({ url, api_key, agent, key: key_id });
  });
}

async function main(): Promise<void> {
  const all = Number(options.decisions);
  const [short, long] = [await measure(Math.round(all / 10)), await measure(all)];
  const rows = [...long].map(([list, ms]) => ({
    list,
    short_ms: Number((short.get(list) ?? 0).toFixed(1)),
    long_ms: Number(ms.toFixed(1)),
    within: ms <= goal_ms ? "" : `over ${goal_ms} ms`,
  }));
  console.table(rows);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ decisions: all, rows }, null, 2)}\n`);
}

if (options.help) console.log(help);
else await main();
