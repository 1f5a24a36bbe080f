import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { ledgerRows } from "../../testing/database/ledger-rows.ts";
import { explained, mostRows, type Plan } from "../../testing/database/plan.ts";
import { firstIdAt } from "../rows/first-id-at.ts";
import { readDeclaredActions } from "./coverage.ts";
import { readAlongIndexes } from "./overview.ts";

const { db, analyze } = await testDatabase();
const from = "2026-11-18T12:00:00.000000Z";

/** Stores one intent each second, with 32 × `md5s` random hex digits. */
async function asked(org_id: string, count: number, md5s = 0): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => index + 1).map((n) => {
    const at_ms = Date.parse(from) + n * 1_000;
    return {
      intent_id: firstIdAt("intent", at_ms).padEnd(30, "0"),
      at: new Date(at_ms).toISOString(),
      verdict: n % 2 === 0 ? ("block" as const) : ("approve" as const),
      intent: { submitted: { action: { verb: `v${n % 3}` }, payload: randomBytes(md5s * 16).toString("hex") } },
    };
  });
  await ledgerRows(db, org_id, rows);
}
const read = (org_id: string, since = from) =>
  db.tenant(org_id, (query) => readDeclaredActions(query, org_id, "mem", since));
const sum = (rows: readonly { readonly count: number }[]) => rows.reduce((all, { count }) => all + count, 0);

test("intents with the same declaration are counted together, and so are those that were held", async () => {
  await asked("org_few", 6);
  const rows = await read("org_few");
  expect(rows.sort((a, b) => String(a.declared?.verb).localeCompare(String(b.declared?.verb)))).toEqual(
    ["v0", "v1", "v2"].map((verb) => ({ declared: { verb, type: null, data_classes: null }, count: 2, held: 1 })),
  );
  expect(sum(await read("org_few", "2026-11-18T12:00:05.000000Z"))).toBe(2);
});

test.each([
  [4_999, 4_999, 0],
  [5_000, 5_000, 0],
  [5_001, 5_000, 1],
  [5_200, 5_000, 1],
])("of %i intents the newest %i are read, and a count of %i shows that there are more", async (count, looked, more) => {
  const org_id = `org_${count}`;
  await asked(org_id, count);
  const rows = await read(org_id);
  expect(sum(rows.filter(({ declared }) => declared !== null))).toBe(looked);
  expect(sum(rows.filter(({ declared }) => declared === null))).toBe(more);
});

test("large intents are read up to 8 MiB, and at least one", async () => {
  // 384 KB each; random hex digits do not compress.
  await asked("org_large", 40, 12_000);
  const rows = await read("org_large");
  const looked = sum(rows.filter(({ declared }) => declared !== null));
  expect(looked).toBeGreaterThan(15);
  expect(looked).toBeLessThan(40);
  expect(sum(rows)).toBe(40);
});

test("decisions that are older than the membrane are not read", async () => {
  const org_id = "org_long";
  await asked(org_id, 5_000);
  await analyze("ledger");
  const membrane_id = firstIdAt("membrane", Date.parse(from) + 4_900_000).padEnd(30, "0");
  const plans: Plan[] = [];
  await db.tenant(org_id, async (query) => {
    await readAlongIndexes(query);
    await readDeclaredActions(explained(query, plans), org_id, membrane_id, from);
  });
  // Clocks of nodes may differ by ten minutes.
  expect(Math.max(...plans.map(mostRows))).toBeLessThan(800);
});
