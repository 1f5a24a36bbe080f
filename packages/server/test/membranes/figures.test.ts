import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { addDecided } from "../../src/testing/database/decided.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { db } = database;
const at = "2026-11-18T12:00:00.000000Z";

test("a starting node counts earlier decisions, and its metrics show the rest", async () => {
  const { org_id } = await testOrganization(db);
  await addDecided(db, org_id, [{ at }, { at }]);
  const { metrics } = await serviceNode(database);
  const counted = async () =>
    (
      await db.query<{ count: number }>(
        `select coalesce(sum(count), 0)::integer as count from figures
         where org_id = $1 and kind = 'verdict' and span = 'day' and membrane_id = ''`,
        [org_id],
      )
    )[0]?.count;
  await expect.poll(counted).toBe(2);
  await expect.poll(() => metrics.text()).toMatch(/^countersign_figures_behind_entries 0$/m);
});
