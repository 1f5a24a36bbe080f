import type { Overview, PipelineMode, Verdict } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { createClock } from "../../edge/clock.ts";
import { timers } from "../../edge/timers.ts";
import type { Db } from "../../ports.ts";
import { listAgents } from "../../store/agents/agents.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { addDecided, type Decided } from "../../testing/database/decided.ts";
import { type RecountedWindow, recount } from "../../testing/database/recount.ts";
import { createDecisionLatencies } from "../intents/decision-latencies.ts";
import { readOverview } from "../membranes/read-overview.ts";
import { countNewest, createFiguresKeeper } from "./keep-figures.ts";
import { listProgress, rebuildFigures } from "./rebuild-figures.ts";

const { db } = await testDatabase();
const never = () => false;
let organizations = 0;

function nextOrganization(): string {
  organizations += 1;
  return `org_${String(organizations).padStart(26, "0")}`;
}

const begun_ms = Date.UTC(2026, 10, 1);
const hour_ms = 3_600_000;
const policy = fc.record({
  policy_id: fc.constantFrom("pol_1", "pol_2"),
  policy: fc.constantFrom("p", 'a "quoted" one'),
  effect: fc.constantFrom("none", "block", "escalate"),
  message: fc.constantFrom("", 'says "risk_score":0.9, and more'),
  unknown_facts: fc.array(
    fc.record({
      path: fc.constantFrom("facts.security.x", "facts.security.y", "params.z"),
      reason: fc.constantFrom("missing", "null", "stale", "type"),
    }),
    { maxLength: 3 },
  ),
});
const decision = fc.record({
  at: fc
    .integer({ min: 0, max: 31 * 24 * 60 })
    .map((minute) => new Date(begun_ms + minute * 60_000).toISOString().replace("Z", "000Z")),
  membrane_id: fc.constantFrom("mem_a", "mem_b"),
  agent_id: fc.constantFrom("a", "b", "c"),
  mode: fc.constantFrom<PipelineMode>("live", "shadow", "test"),
  verdict: fc.constantFrom<Verdict>("approve", "approve_modified", "escalate", "block"),
  risk_score: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.1, 0.3, 0.7, 1)),
  reasons: fc.array(policy, { maxLength: 3 }),
});
type Step =
  | { readonly do: "decide"; readonly decisions: readonly Required<Omit<Decided, "decision" | "verb">>[] }
  | { readonly do: "pass"; readonly fate: "whole" | "lost_before" | "lost_after" | "two" }
  | { readonly do: "rebuild" };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(decision, { maxLength: 12 }).map((decisions) => ({ do: "decide" as const, decisions })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("whole" as const, "lost_before" as const, "lost_after" as const, "two" as const)
      .map((fate) => ({ do: "pass" as const, fate })),
  },
  { weight: 1, arbitrary: fc.constant({ do: "rebuild" as const }) },
);

function breaking(fate: "lost_before" | "lost_after", at: number): Pick<Db, "queued" | "system" | "tenant"> {
  let statements = 0;
  return {
    system: (work) => db.system(work),
    tenant: (id, work) => db.tenant(id, work),
    async queued(statement, params) {
      statements += 1;
      if (statements !== at) return db.queued(statement, params);
      if (fate === "lost_after") await db.queued(statement, params);
      throw new Error("Connection terminated unexpectedly");
    },
  };
}

function pass(org_id: string, node: Pick<Db, "queued" | "system" | "tenant"> = db): Promise<void> {
  const keeper = createFiguresKeeper(node, { seqs: 4, rows: 7 });
  keeper.decided(org_id);
  return keeper.pass(never);
}

const read = (org_id: string, window: RecountedWindow) =>
  readOverview(
    { db, clock: createClock(), latencies: createDecisionLatencies(), callers: { writeUses: async () => undefined } },
    new Map(),
    { org_id },
    window as Parameters<typeof readOverview>[3],
  );

function told(overview: Overview) {
  const sorted = <Row>(rows: readonly Row[], key: (row: Row) => string) =>
    [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return {
    decisions: overview.decisions,
    risk: overview.risk,
    policies: sorted(
      overview.policies.map(({ policy_id, policy: name, effect, count }): [string, number] => [
        JSON.stringify([policy_id, name, effect]),
        count,
      ]),
      ([key]) => key,
    ),
    agents: sorted(
      overview.agents.map(({ agent_id, count, held }) => [agent_id, count, held]),
      (row) => String(row[0]),
    ),
    missed: overview.missing_facts.decisions,
    missing: overview.missing_facts.facts.map(({ path, decisions, rules }) => [
      path,
      decisions,
      [...new Set(rules.map(({ policy_id }) => policy_id))].sort(),
    ]),
  };
}

function hourly({ buckets, from }: Overview): [string, number][] {
  return buckets
    .map(({ at, mode, verdict, count }): [string, number] => [
      JSON.stringify([(Date.parse(at) - Date.parse(from)) / hour_ms, mode, verdict]),
      count,
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function expectExact(
  org_id: string,
  all: readonly Required<Omit<Decided, "decision" | "verb">>[],
  window: RecountedWindow,
) {
  const overview = await read(org_id, window);
  expect(overview.complete).toBe(true);
  const { verdicts, missing, ...others } = recount(all, window);
  const byCount = [...missing].sort((a, b) => Number(b[1]) - Number(a[1]) || (String(a[0]) < String(b[0]) ? -1 : 1));
  expect(told(overview)).toEqual({ ...others, missing: byCount });
  if (overview.bucket_seconds === 3_600) expect(hourly(overview)).toEqual(verdicts);
}

async function expectNoted(org_id: string, all: readonly Required<Omit<Decided, "decision" | "verb">>[]) {
  const noted = await db.tenant(org_id, (query) => listAgents(query, org_id, "", null, 100));
  const times = (agent_id: string) =>
    all
      .filter((each) => each.agent_id === agent_id)
      .map((each) => each.at)
      .sort();
  expect(noted.map((each) => each.agent_id)).toEqual([...new Set(all.map((each) => each.agent_id))].sort());
  for (const { agent_id, first_seen_at, last_seen_at } of noted) {
    expect(first_seen_at).toBe(times(agent_id)[0]);
    const late_ms = Date.parse(times(agent_id).at(-1) ?? "") - Date.parse(last_seen_at ?? "");
    expect(late_ms).toBeGreaterThanOrEqual(0);
    expect(late_ms).toBeLessThanOrEqual(60_000);
  }
}

const at = (hours: number) => new Date(begun_ms + hours * hour_ms).toISOString();
const windows = fc.record(
  {
    from: fc.integer({ min: 0, max: 24 * 20 }),
    hours: fc.oneof(fc.integer({ min: 1, max: 48 }), fc.integer({ min: 1, max: 31 * 24 })),
    membrane_id: fc.constantFrom("mem_a", "mem_b"),
    mode: fc.constantFrom("live", "shadow"),
  },
  { requiredKeys: ["from", "hours"] },
);

describe("figures", () => {
  test("equal a full count, with crashes between pages, two nodes at once and rebuilds", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.array(windows, { minLength: 1, maxLength: 3 }),
        async (steps, asked) => {
          const org_id = nextOrganization();
          await addDecided(db, org_id, []);
          const all: Required<Omit<Decided, "decision" | "verb">>[] = [];
          const check = async () => {
            for (const { from, hours, ...filter } of asked)
              await expectExact(org_id, all, { from: at(from), to: at(from + hours), ...filter });
          };
          for (const each of steps) {
            if (each.do === "decide") {
              await addDecided(db, org_id, each.decisions);
              all.push(...each.decisions);
            } else if (each.do === "rebuild")
              await rebuildFigures({ db, timers }, org_id, () => undefined, { seqs: 6, rows: 5 });
            else if (each.fate === "whole") await pass(org_id);
            else if (each.fate === "two") await Promise.all([pass(org_id), pass(org_id)]);
            else await pass(org_id, breaking(each.fate, 2)).catch(() => undefined);
          }
          await check();
          await pass(org_id);
          await check();
          await expectNoted(org_id, all);
        },
      ),
      { numRuns: runs(150) },
    );
  });

  test("hold each decision once: by membrane and for all, by hour and by day", async () => {
    const org_id = nextOrganization();
    await addDecided(db, org_id, [{ at: at(1.5) }, { at: at(25), membrane_id: "mem_b", agent_id: "b" }]);
    await pass(org_id);
    await pass(org_id);
    const rows = await db.query<{ membrane_id: string; span: string; begins: string; count: number }>(
      `select membrane_id, span, begins, count from figures where org_id = $1 and kind = 'verdict' order by 1, 2, 3`,
      [org_id],
    );
    const shown = rows.map(({ membrane_id, span, begins, count }) => [membrane_id, span, begins.slice(5, 13), count]);
    expect(shown).toEqual([
      ["", "day", "11-01T00", 1],
      ["", "day", "11-02T00", 1],
      ["", "hour", "11-01T01", 1],
      ["", "hour", "11-02T01", 1],
      ["mem_a", "day", "11-01T00", 1],
      ["mem_a", "hour", "11-01T01", 1],
      ["mem_b", "day", "11-02T00", 1],
      ["mem_b", "hour", "11-02T01", 1],
    ]);
  });
});

const behindOf = async (org_id: string) => {
  const found = (await listProgress(db)).find((each) => each.org_id === org_id);
  return found === undefined ? null : found.head - found.as_of;
};

describe("a keeper", () => {
  test("counts organizations with many decisions soon, the others in its rounds", async () => {
    const [busy, quiet] = [nextOrganization(), nextOrganization()];
    const keeper = createFiguresKeeper(db);
    for (let each = 0; each < 50; each += 1) await keeper.pass(never);
    await addDecided(db, busy, [{ at: at(0) }]);
    await addDecided(db, quiet, [{ at: at(0) }]);
    for (let each = 0; each < 1_000; each += 1) keeper.decided(busy);
    keeper.decided(quiet);
    expect(keeper.behind()).toBe(1_001);
    await keeper.pass(never);
    expect([await behindOf(busy), await behindOf(quiet)]).toEqual([0, 2]);
    expect(keeper.behind()).toBe(1);
    for (let each = 0; each < 30; each += 1) await keeper.pass(never);
    expect(await behindOf(quiet)).toBe(0);
    expect(keeper.behind()).toBe(0);
  });

  test("finds organizations without a hint", async () => {
    const org_id = nextOrganization();
    await addDecided(db, org_id, [{ at: at(0) }]);
    await createFiguresKeeper(db).pass(never);
    expect(await behindOf(org_id)).toBe(0);
  });

  test("gives every organization its turn, even beside one with a long history", async () => {
    const [long, short] = [nextOrganization(), nextOrganization()];
    await addDecided(
      db,
      long,
      Array.from({ length: 50 }, () => ({ at: at(0) })),
    );
    await addDecided(db, short, [{ at: at(0) }]);
    const turns: unknown[] = [];
    const watched: Pick<Db, "queued" | "system" | "tenant"> = {
      system: (work) => db.system(work),
      tenant: (id, work) => db.tenant(id, work),
      queued(statement, params) {
        turns.push(params[0]);
        return db.queued(statement, params);
      },
    };
    const keeper = createFiguresKeeper(watched, { seqs: 10, rows: 10 });
    keeper.decided(long);
    await keeper.pass(never);
    const ofBoth = turns.filter((org_id) => org_id === long || org_id === short);
    expect(ofBoth.indexOf(short)).toBeLessThan(4);
    expect(ofBoth.filter((org_id) => org_id === long).length).toBeGreaterThan(9);
    expect([await behindOf(long), await behindOf(short)]).toEqual([0, 0]);
  });

  test("ends between two pages when the node stops, and the next pass resumes", async () => {
    const org_id = nextOrganization();
    await addDecided(
      db,
      org_id,
      Array.from({ length: 10 }, () => ({ at: at(0) })),
    );
    const keeper = createFiguresKeeper(db, { seqs: 4, rows: 4 });
    let asked = 0;
    await keeper.pass(() => {
      asked += 1;
      return asked > 2;
    });
    expect(await behindOf(org_id)).toBe(16);
    expect(keeper.behind()).toBe(16);
    await createFiguresKeeper(db).pass(never);
    expect(await behindOf(org_id)).toBe(0);
  });

  test("skips an organization that another node works on, and retries it later", async () => {
    const org_id = nextOrganization();
    await addDecided(db, org_id, [{ at: at(0) }]);
    await pass(org_id);
    await addDecided(db, org_id, [{ at: at(0) }]);
    const keeper = createFiguresKeeper(db);
    await db.system(async (query) => {
      await query("select from figures_state where org_id = $1 for update", [org_id]);
      await keeper.pass(never);
    });
    expect(await behindOf(org_id)).toBe(2);
    expect(keeper.behind()).toBe(2);
  });

  test("a reader waits for another count, and then counts what that one has not seen", async () => {
    const org_id = nextOrganization();
    await addDecided(db, org_id, [{ at: at(0) }]);
    await pass(org_id);
    await addDecided(db, org_id, [{ at: at(0) }]);
    let has_counted = false;
    let counting = Promise.resolve();
    await db.system(async (query) => {
      await query("select from figures_state where org_id = $1 for update", [org_id]);
      counting = countNewest(db, org_id).then(() => {
        has_counted = true;
      });
      await expect
        .poll(() => query("select from pg_locks where not granted and pid <> pg_backend_pid()"))
        .not.toEqual([]);
      expect(has_counted).toBe(false);
    });
    await counting;
    expect(await behindOf(org_id)).toBe(0);
  });
});
