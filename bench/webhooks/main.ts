import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { independence } from "./independence.ts";
import { quiet } from "./quiet.ts";
import { speed } from "./speed.ts";
import { openStage, type Stage } from "./stage.ts";

const help = `usage: npm run bench -- webhooks [options]

  --scenario NAME  speed (default): deliveries per second beside a bare loop, and the API's latency meanwhile
                   independence: whom a dead receiver and a backlog of 10,000 delay
                   quiet: deliveries per second of many organizations with 4 events each
  --deliveries N   speed: deliveries per round (default 5000); independence: the backlog (default 10000)
  --organizations N  quiet: how many (default 500)
  --receivers N    speed: webhooks that each event is delivered to (default 1)
  --rounds N       speed: rounds, bare loop and service in turn; independence: rounds without and with the dead receiver;
                   medians are reported (default 3)
  --json FILE      also write the figures as JSON`;

const { values: options } = parseArgs({
  options: {
    scenario: { type: "string", default: "speed" },
    deliveries: { type: "string" },
    receivers: { type: "string", default: "1" },
    organizations: { type: "string", default: "500" },
    rounds: { type: "string", default: "3" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

async function main(): Promise<void> {
  const stage = await openStage();
  try {
    const figures = await run(stage, Number(options.rounds));
    console.table(figures);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    await stage.close();
  }
}

function run(stage: Stage, rounds: number): Promise<object> {
  const { scenario, deliveries, receivers, organizations } = options;
  if (scenario === "independence") return independence(stage, Number(deliveries ?? 10_000), rounds);
  if (scenario === "quiet") return quiet(stage, Number(organizations), rounds);
  return speed(stage, Number(deliveries ?? 5_000), rounds, Number(receivers));
}

if (options.help) console.log(help);
else await main();
