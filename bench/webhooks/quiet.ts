/** Measures deliveries per second of many organizations with a few events and one fast receiver each. */
import { cpuOf } from "../http/processes.ts";
import { median } from "../median.ts";
import { arrivals, draftOf, type Stage } from "./stage.ts";

const events_each = 4;

export async function quiet(stage: Stage, organizations: number, rounds: number) {
  const org_ids: string[] = [];
  for (let n = 0; n < organizations; n += 1) {
    const { org_id, client } = await stage.organization();
    await client.registerWebhook({ url: `${stage.origin}/hook/${n}`, event_types: ["quota.exceeded"] });
    org_ids.push(org_id);
  }
  const used = () => [cpuOf(stage.server.pid).own_ms, cpuOf(stage.server.pid).children_ms] as const;
  const measured: { rate: number; node_us: number; postgres_us: number }[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const before = used();
    const count = organizations * events_each;
    const rate = await arrivals(stage, count, async () => {
      await stage.database.query(
        `insert into events (org_id, event_id, event_type, body, created_at)
         select org_id, $1 || n, 'quota.exceeded', $2::json, clock_timestamp() from unnest($3::text[]) as org_id, generate_series(1, $4::integer) as n`,
        [`evt_${Date.now()}_`, JSON.stringify(draftOf(org_ids[0] as string)), org_ids, events_each],
      );
    });
    const [node_us, postgres_us] = used().map((ms, n) => ((ms - (before[n] as number)) / count) * 1_000);
    if (round > 0) measured.push({ rate, node_us: node_us as number, postgres_us: postgres_us as number });
  }
  const middle = (of: keyof (typeof measured)[0]) => Math.round(median(measured.map((each) => each[of])));
  return {
    deliveries_per_second: middle("rate"),
    delivery_node_us: middle("node_us"),
    delivery_postgres_us: middle("postgres_us"),
  };
}
