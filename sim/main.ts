import { parseArgs } from "node:util";
import { connectCommit } from "../packages/server/src/store/commit/commit-writer.ts";
import { openDb } from "../packages/server/src/store/database/db.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";
import { connectOnSimClock } from "./counters/clock.ts";
import { runCounters } from "./counters/world.ts";
import { withDatabase } from "./database.ts";
import { runDeliveries } from "./deliveries-world.ts";
import { keepConnections } from "./kept-connections.ts";
import { runPeople } from "./people/world.ts";
import { runWorld } from "./world.ts";

const help = `usage: npm run sim -- [options]

  --world NAME   commits (default): the commit writer; people: reviews and overrides; rulings: the same with
                 freezes, claims, withdrawals and changing rules; counters: limits of what agents do in
                 an hour and on a day; deliveries: webhooks
  --seeds N      that many worlds, until a promise is broken (default 200)
  --first N      the first of them (default 1)
  --seed N       one world, and what happened in it
  --steps N      steps of a world (default 10)

DATABASE_URL chooses the server; without it an embedded one is started.`;
const runRulings: typeof runPeople = (seed, setting, steps) =>
  runPeople(seed, { ...setting, freezes: true, rulings: true }, steps);
const worlds = {
  commits: runWorld,
  people: runPeople,
  rulings: runRulings,
  counters: runCounters,
  deliveries: runDeliveries,
};

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
    seed: { type: "string" },
    seeds: { type: "string", default: "200" },
    steps: { type: "string", default: "10" },
    world: { type: "string", default: "commits" },
  },
});
const run = worlds[values.world as keyof typeof worlds];
const numbers = [values.seed ?? values.first, values.seeds, values.steps];
if (values.help || run === undefined || numbers.some((each) => !/^[1-9][0-9]*$/.test(each))) {
  console.log(help);
  process.exit(values.help ? 0 : 2);
}
const told_every = 500;
const first = Number(values.seed ?? values.first);
const last = values.seed === undefined ? first + Number(values.seeds) - 1 : first;
const started_ms = performance.now();
const told: Record<string, number> = {};

let worlds_run = 0;

await withDatabase(async (connection) => {
  const connect = values.world === "counters" ? await connectOnSimClock(connection) : connectCommit(connection);
  const kept = keepConnections(connect);
  const db = openDb(connection, silentLog);
  for (let seed = first; seed <= last; seed++) {
    const setting = { db, connect: kept.connect, log: silentLog };
    const result = await run(seed, setting, Number(values.steps));
    worlds_run += 1;
    if (worlds_run % told_every === 0) console.error(`${worlds_run} world(s), the last with seed ${seed}`);
    if (!result.sound) {
      console.log(result.trace.join("\n"));
      console.log(
        `seed ${seed}, step ${result.step}: ${result.problem}\nrepeat with: npm run sim -- --world ${values.world} --seed ${seed} --steps ${values.steps}`,
      );
      process.exitCode = 1;
      break;
    }
    if (values.seed !== undefined && "trace" in result) console.log(result.trace.join("\n"));
    if ("told" in result)
      for (const [outcome, n] of Object.entries(result.told)) told[outcome] = (told[outcome] ?? 0) + n;
  }
  kept.end();
  await db.close();
});
console.log(`${worlds_run} world(s) in ${((performance.now() - started_ms) / 1000).toFixed(1)} s`, told);
