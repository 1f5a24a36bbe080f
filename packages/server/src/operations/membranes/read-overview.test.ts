import type { Overview } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { timers } from "../../edge/timers.ts";
import type { Db, Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { addDecided, type Decided } from "../../testing/database/decided.ts";
import { explained, mostRows, type Plan } from "../../testing/database/plan.ts";
import { createFiguresKeeper } from "../figures/keep-figures.ts";
import { rebuildFigures } from "../figures/rebuild-figures.ts";
import { createDecisionLatencies } from "../intents/decision-latencies.ts";
import { type OverviewRequest, readOverview } from "./read-overview.ts";

const { db, analyze } = await testDatabase();
const [first, last] = ["2026-11-18T12:00:00.000000Z", "2026-11-18T12:59:59.999999Z"];
const hour = { from: first, to: "2026-11-18T13:00:00.000000Z" };
let organizations = 0;

async function organization(decisions: readonly Decided[] = []): Promise<string> {
  organizations += 1;
  const org_id = `org_${String(organizations).padStart(26, "0")}`;
  await addDecided(db, org_id, decisions);
  return org_id;
}

function read(org_id: string, request: OverviewRequest = hour, database: Pick<Db, "reading"> = db): Promise<Overview> {
  const callers = { writeUses: async () => undefined };
  const runtime = { db: { ...db, ...database }, callers, clock: createClock(), latencies: createDecisionLatencies() };
  return readOverview(runtime, new Map(), { org_id }, request);
}

async function keep(): Promise<void> {
  const keeper = createFiguresKeeper(db);
  do await keeper.pass(() => false);
  while (keeper.behind() > 0);
}

async function both(
  org_id: string,
  look: (overview: Overview) => void,
  request: OverviewRequest = hour,
): Promise<void> {
  look(await read(org_id, request));
  await keep();
  look(await read(org_id, request));
}

const ofVerdict = ({ buckets }: Overview, verdict: string) =>
  buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);

describe("an overview", () => {
  test("counts 29 blocked actions, however many newer ones were approved", async () => {
    const blocked = Array.from({ length: 29 }, () => ({ at: first }));
    const org_id = await organization(blocked);
    for (let page = 0; page < 5; page += 1)
      await addDecided(
        db,
        org_id,
        Array.from({ length: 5_000 }, () => ({ at: last, verdict: "approve", reasons: [] })),
      );
    const before = await read(org_id);
    expect([before.complete, before.as_of, before.decisions]).toEqual([false, { seq: 0, at: null }, 0]);
    await keep();
    const overview = await read(org_id);
    expect([overview.complete, overview.decisions, ofVerdict(overview, "block")]).toEqual([true, 25_029, 29]);
    expect(overview.policies).toEqual([
      { policy_id: "pol", policy: "p", effect: "block", count: 29, missing_facts: 0 },
    ]);
    expect(overview.as_of).toEqual({ seq: 50_058, at: last });
  });

  test("covers the whole hours around the window, and names them", async () => {
    const org_id = await organization(
      [first, last, "2026-11-18T11:59:59.999999Z", "2026-11-18T13:00:00.000000Z"].map((at) => ({ at })),
    );
    await both(org_id, (overview) => expect(overview).toMatchObject({ ...hour, bucket_seconds: 3_600, decisions: 2 }));
    const within = { from: "2026-11-18T12:10:00Z", to: "2026-11-18T12:10:01Z" };
    await both(org_id, (overview) => expect(overview).toMatchObject({ ...hour, decisions: 2 }), within);
    const longer = { from: "2026-11-18T11:59:00Z", to: "2026-11-18T13:00:00.000001Z" };
    await both(org_id, (overview) => expect(overview.decisions).toBe(4), longer);
    const month = { from: "2026-10-18T13:30:00Z", to: "2026-11-18T13:30:00Z" };
    const { from, to, bucket_seconds, buckets, decisions } = await read(org_id, month);
    expect([from.slice(0, 16), to.slice(0, 16), bucket_seconds]).toEqual([
      "2026-10-18T13:00",
      "2026-11-18T14:00",
      86_400,
    ]);
    expect(decisions).toBe(4);
    expect(buckets.map(({ at, count }) => [at.slice(0, 13), count])).toEqual([
      ["2026-11-17T13", 3],
      ["2026-11-18T13", 1],
    ]);
  });

  test("covers one organization, and the requested membrane and mode", async () => {
    const org_id = await organization([{ at: first }, { at: first, mode: "shadow", membrane_id: "mem_2" }]);
    await organization([{ at: first }]);
    await both(org_id, (overview) => expect(overview.decisions).toBe(2));
    await both(org_id, ({ buckets }) => expect(buckets).toMatchObject([{ mode: "live", count: 1 }]), {
      ...hour,
      mode: "live",
    });
    const second = { ...hour, membrane_id: "mem_2" };
    await both(org_id, ({ buckets }) => expect(buckets).toMatchObject([{ mode: "shadow", count: 1 }]), second);
    await both(org_id, ({ decisions }) => expect(decisions).toBe(0), { ...second, mode: "live" });
  });

  test("counts risk in steps of a tenth, with 1 in the last step, in any spelling of the document", async () => {
    const scores = [0, 0.1, 0.29, 0.3, 0.7, 0.7999999999999999, 0.99, 1];
    const written = [
      '{"reasons": [], "risk_score": 0.45}',
      '{"risk_score":4e-1,"reasons":[]}',
      '{"reasons":[{"policy_id":"p","policy":"p","effect":"none","message":"\\"risk_score\\":0.9,"}],"risk_score":0.65}',
    ];
    const org_id = await organization([
      ...scores.map((risk_score) => ({ at: first, risk_score })),
      ...written.map((decision) => ({ at: first, decision })),
    ]);
    await both(org_id, ({ risk }) => expect(risk).toEqual([1, 1, 1, 1, 2, 0, 1, 1, 1, 2]));
  });

  test("lists the ten busiest agents and policies, equal ones by name", async () => {
    const reasons = (policy: string) => [{ policy_id: "pol", policy, effect: "block", unknown_facts: [] }];
    const org_id = await organization([
      ...Array.from("lkjihgfedcba", (name) => ({ at: first, agent_id: name, reasons: reasons(name) })),
      ...(["approve", "escalate", "escalate"] as const).map((verdict) => ({
        ...{ at: last, agent_id: "c", reasons: reasons("c"), verdict },
      })),
      { at: first, agent_id: "b", reasons: reasons("b") },
    ]);
    await both(org_id, ({ agents, policies }) => {
      expect(agents.map(({ agent_id, count, held }) => [agent_id, count, held])).toEqual([
        ["c", 4, 3],
        ["b", 2, 2],
        ...Array.from("adefghij", (name) => [name, 1, 1]),
      ]);
      expect(policies.map(({ policy, count }) => [policy, count])).toEqual([
        ["c", 3],
        ["b", 2],
        ...Array.from("adefghij", (name) => [name, 1]),
      ]);
    });
  });

  test("counts an agent exactly if it is among the busiest in only one hour", async () => {
    const crowd = (at: string) =>
      Array.from({ length: 101 }, (_, n) => [0, 1].map(() => ({ at, agent_id: `crowd-${n}` })));
    const [next, later] = ["2026-11-18T13:00:00.000000Z", "2026-11-18T14:00:00.000000Z"];
    const own = [first, next, next, next, next, next].map((at) => ({ at, agent_id: "own" }));
    const org_id = await organization([...crowd(first).flat(), ...own]);
    await keep();
    await addDecided(db, org_id, [{ at: next, agent_id: "own", verdict: "approve" }]);
    const { agents } = await read(org_id, { from: first, to: later });
    expect(agents[0]).toEqual({ agent_id: "own", count: 7, held: 6 });
  });

  test("names what stopped or changed an action, each effect separately, and nothing for a plain approval", async () => {
    const decided = (verdict: NonNullable<Decided["verdict"]>, effect: string) => ({
      ...{ at: first, verdict, reasons: [{ policy_id: null, policy: "a", effect, unknown_facts: [] }] },
    });
    const org_id = await organization([
      decided("approve", "none"),
      decided("block", "none"),
      ...(["approve_modified", "escalate", "escalate"] as const).map((verdict) => decided(verdict, verdict)),
    ]);
    await both(org_id, ({ policies }) =>
      expect(policies).toEqual([
        { policy_id: null, policy: "a", effect: "escalate", count: 2, missing_facts: 0 },
        { policy_id: null, policy: "a", effect: "approve_modified", count: 1, missing_facts: 0 },
      ]),
    );
  });

  test("counts missing facts by decision, with the rules that need them, most frequent first", async () => {
    const reason = (policy: string, facts: Record<string, string>, effect = "escalate") => ({
      ...{ policy_id: `pol_${policy}`, policy, effect },
      unknown_facts: Object.entries(facts).map(([path, why]) => ({ path, reason: why })),
    });
    const decided = (...reasons: object[]) => ({ at: first, verdict: "escalate" as const, reasons });
    const org_id = await organization([
      decided(
        reason("b", { "facts.security.x": "null" }),
        reason("a", { "facts.security.x": "missing", "params.amount": "missing" }),
      ),
      decided(reason("a", { "facts.security.x": "stale", "facts.security.y": "source_timeout" })),
      decided(
        reason("c", { "facts.security.z": "type", "": "cost" }),
        reason("d", { "facts.security.z": "missing" }, "none"),
      ),
      { at: first, verdict: "approve", reasons: [] },
    ]);
    const rule = (policy: string) => ({ policy_id: `pol_${policy}`, policy, pack: null });
    await both(org_id, ({ policies }) =>
      expect(policies.map(({ policy, count, missing_facts }) => [policy, count, missing_facts])).toEqual([
        ["a", 2, 2],
        ["b", 1, 1],
        ["c", 1, 0],
      ]),
    );
    await both(org_id, ({ missing_facts }) =>
      expect(missing_facts).toMatchObject({
        decisions: 2,
        share: 0.5,
        facts: [
          { path: "facts.security.x", decisions: 2, rules: [rule("a"), rule("b")] },
          { path: "facts.security.y", decisions: 1, rules: [rule("a")] },
        ],
      }),
    );
  });
});

describe("an overview that is not complete", () => {
  test("reports a running rebuild, and shows no partial figures as complete", async () => {
    const org_id = await organization(Array.from({ length: 40 }, () => ({ at: first })));
    await keep();
    const seen: [boolean, number][] = [];
    const stopped = rebuildFigures(
      { db, timers },
      org_id,
      ({ as_of }) => {
        seen.push([as_of < 0, as_of]);
        if (as_of < 0) throw new Error("interrupted");
      },
      { seqs: 20, rows: 5 },
    );
    await expect(stopped).rejects.toThrow("interrupted");
    const halfway = await read(org_id);
    expect([halfway.complete, halfway.decisions, halfway.agents, halfway.as_of.seq]).toEqual([false, 0, [], 0]);
    const { continued, as_of } = await rebuildFigures({ db, timers }, org_id, () => undefined, { seqs: 20, rows: 5 });
    expect([continued, as_of]).toEqual([true, 80]);
    expect(await read(org_id)).toMatchObject({ complete: true, decisions: 40, as_of: { seq: 80, at: first } });
    const again = await rebuildFigures({ db, timers }, org_id, () => undefined);
    expect([again.continued, (await read(org_id)).decisions]).toEqual([false, 40]);
  });
});

test("an overview has the same counts of the period before, and only of the rules that acted in the window", async () => {
  const reasons = (policy: string) => [{ policy_id: "pol", policy, effect: "block", unknown_facts: [] }];
  const org_id = await organization([
    { at: "2026-11-18T10:59:59Z", reasons: reasons("p") },
    { at: "2026-11-18T11:00:00Z", reasons: reasons("p") },
    { at: "2026-11-18T11:30:00Z", reasons: reasons("q") },
    { at: "2026-11-18T11:59:59Z", verdict: "approve", reasons: [] },
    { at: first, reasons: reasons("p") },
  ]);
  await both(org_id, ({ before, decisions }) => {
    expect(decisions).toBe(1);
    expect(before).toMatchObject({
      from: "2026-11-18T11:00:00.000000Z",
      to: first,
      decisions: 3,
      verdicts: { approve: 1, approve_modified: 0, escalate: 0, block: 2 },
      policies: [{ policy_id: "pol", policy: "p", effect: "block", count: 1, missing_facts: 0 }],
    });
  });
});

test("an overview does not read more as the history grows", async () => {
  const org_id = await organization();
  const months: number[] = [];
  for (let month = 0; month < 3; month += 1) {
    const begun_ms = Date.UTC(2025, month, 1);
    const at = (n: number) => new Date(begun_ms + n * 3_600_000).toISOString();
    await addDecided(
      db,
      org_id,
      Array.from({ length: 24 * 28 }, (_, n) => ({ at: at(n), agent_id: `agent-${n % 7}` })),
    );
    await keep();
    await analyze("figures, figures_state");
    const plans: Plan[] = [];
    const watched = (query: Query): Query => {
      const explaining = explained(query, plans);
      return (text, params) => (/\bfrom figures\b/.test(text) ? explaining : query)(text, params);
    };
    const watching = {
      reading: ((of, wanted, work) => db.reading(of, wanted, (query) => work(watched(query)))) as typeof db.reading,
    };
    await read(org_id, { from: at(0), to: at(24 * 28) }, watching);
    expect(plans.length).toBeGreaterThan(2);
    months.push(Math.max(...plans.map(mostRows)));
  }
  expect(months[2]).toBeLessThan(24 * 28 + 100);
  expect(months[2]).toBeLessThanOrEqual((months[0] ?? 0) * 1.1);
});
