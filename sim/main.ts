/**
 * `npm run sim -- --seed 7` repeats one world and prints what happened in it; `npm run sim -- --seeds 1000` runs that many
 * and stops at the first broken promise. `--world people` runs reviews and overrides, `--world deliveries` webhooks,
 * `--world commits` (default) the commit writer. `DATABASE_URL` chooses the server; without it an embedded one is started.
 */
import { parseArgs } from "node:util";
import { connectCommit } from "../packages/server/src/store/commit-writer.ts";
import { openDb } from "../packages/server/src/store/db.ts";
import { silentLog } from "../packages/server/src/testing/silent-log.ts";
import { withDatabase } from "./database.ts";
import { runDeliveries } from "./deliveries-world.ts";
import { runPeople } from "./people-world.ts";
import { runWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "200" },
    steps: { type: "string", default: "10" },
    world: { type: "string", default: "commits" },
  },
});
const first = Number(values.seed ?? 1);
const last = values.seed === undefined ? Number(values.seeds) : first;
const started_ms = performance.now();
const told: Record<string, number> = {};

await withDatabase(async (connection) => {
  const db = openDb(connection, silentLog);
  for (let seed = first; seed <= last; seed++) {
    const setting = { db, connect: connectCommit(connection), log: silentLog };
    const run = { people: runPeople, deliveries: runDeliveries }[values.world] ?? runWorld;
    const result = await run(seed, setting, Number(values.steps));
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
  await db.close();
});
console.log(`${last - first + 1} world(s) in ${((performance.now() - started_ms) / 1000).toFixed(1)} s`, told);
