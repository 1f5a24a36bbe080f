/**
 * `npm run mcp:conformance`: exits with 1 if the proxy changes what it should not. `-- --only TEXT` runs the pairs with
 * this text in their names. `-- --write` records a whole run without faults in results.json, for the documentation.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openDb } from "../../packages/server/src/store/database/db.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";
import { cleanUp } from "../../packages/server/src/testing/when-file-is-done.ts";
import { withDatabase } from "../../sim/database.ts";
import { isFault, type Row } from "./outcomes.ts";
import { has_tools, versions } from "./programs.ts";
import { faults, type Results, sums, table } from "./report.ts";
import { startService } from "./service.ts";
import { pairs, rowsOf } from "./suite.ts";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, write: { type: "boolean", default: false } },
});
if (values.write && values.only !== "") throw new Error("--write records whole runs only");
if (!has_tools) {
  console.error("First run: npm ci --prefix test/mcp-conformance/tools --ignore-scripts");
  process.exit(2);
}
for (const [name, version] of Object.entries(versions())) console.log(`${name} ${version}`);

const rows: Row[] = [];
await withDatabase(async (connection) => {
  const db = openDb(connection, silentLog);
  try {
    const accesses = await startService({ db, connection, analyze: async () => undefined });
    for (const pair of pairs.filter(({ name }) => name.includes(values.only)))
      for await (const found of rowsOf(pair, accesses)) {
        console.log(`\n── ${found[0]?.pair}\n${table(found)}`);
        rows.push(...found);
      }
  } finally {
    await cleanUp();
    await db.close();
  }
});

const all = sums(rows);
console.log();
for (const { pair, scenarios, equal, answered, faults } of all)
  console.log(
    `${pair}: ${scenarios} scenarios, ${equal} equal, ${answered} where governance answers, ${faults} faults`,
  );
if (rows.some(isFault)) console.log(faults(rows));
console.log(`${rows.length} scenarios, ${rows.filter(isFault).length} faults`);
process.exitCode = rows.length > 0 && !rows.some(isFault) ? 0 : 1;
if (values.write && process.exitCode === 0) {
  const kept = all.map(({ faults: _, ...sum }) => sum);
  const results: Results = { versions: versions(), sums: kept };
  writeFileSync(join(import.meta.dirname, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
}
