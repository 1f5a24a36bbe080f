import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import type { Query } from "../../ports.ts";
import { firstIdAt } from "../../store/rows/first-id-at.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { ledgerRows } from "../../testing/database/ledger-rows.ts";
import { explained, mostRows, type Plan } from "../../testing/database/plan.ts";
import { createDecisionLatencies } from "../intents/decision-latencies.ts";
import { readOverview } from "./read-overview.ts";

const { db, analyze } = await testDatabase();
const org_id = "org_00000000000000000000000001";

test("an overview reads the decisions of its window, of a new membrane those since it was made, and not the history before", async () => {
  const begun_ms = Date.UTC(2026, 0, 1);
  const [before, within] = [20_000, 12_000];
  // One a minute; not in the order of their times, as where many organizations' stand between each other.
  await ledgerRows(
    db,
    org_id,
    Array.from({ length: before + within }, (_, index) => index + 1).map((n) => ({
      intent_id: firstIdAt("intent", begun_ms + n * 60_000).padEnd(30, "0"),
      at: new Date(begun_ms + n * 60_000).toISOString(),
      verdict: n % 20 === 0 ? "block" : "approve",
      data: { risk_score: 0.5, reasons: [] },
    })),
    { scattered: true },
  );
  await analyze("ledger");
  const plans: Plan[] = [];
  const watched = (query: Query): Query => {
    const explaining = explained(query, plans);
    return (text, params) => (text.includes("from intents") ? explaining : query)(text, params);
  };
  const watching = {
    ...db,
    tenant: ((of, work) => db.tenant(of, (query) => work(watched(query)))) as typeof db.tenant,
  };
  const read = (more: { readonly membrane_id?: string } = {}) =>
    readOverview(
      { db: watching, clock: createClock(), latencies: createDecisionLatencies() },
      new Map(),
      { org_id },
      {
        from: new Date(begun_ms + (before + 1) * 60_000).toISOString(),
        to: new Date(begun_ms + (before + within + 1) * 60_000).toISOString(),
        ...more,
      },
    );
  expect((await read()).decisions).toBe(within);
  expect(plans).toHaveLength(3);
  for (const plan of plans.splice(0)) expect(mostRows(plan)).toBeLessThan(within + 20);
  // Nothing was decided in a membrane before it was made.
  const made_ms = begun_ms + (before + within - 100) * 60_000;
  await read({ membrane_id: firstIdAt("membrane", made_ms).padEnd(30, "0") });
  expect(plans).toHaveLength(3);
  for (const plan of plans) expect(mostRows(plan)).toBeLessThan(120);
});
