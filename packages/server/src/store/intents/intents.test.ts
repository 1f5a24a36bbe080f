import { factsOf } from "@countersign/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIds } from "../../edge/ids.ts";
import { timers } from "../../edge/timers.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { decisionRows } from "../../testing/database/decision-rows.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { connectCommit, createCommitWriter, type DecisionRows } from "../commit/commit-writer.ts";
import { createHead } from "../organizations/heads.ts";
import {
  currentDecision,
  type IntentFilter,
  listIntents,
  readDecision,
  readFinal,
  readFirstAnswer,
  readIntent,
} from "./intents.ts";
import { searchIntents } from "./search-intents.ts";

const day_us = 86_400_000_000;
let now_us = Date.UTC(2026, 10, 1) * 1000;
const clock = { now_us: () => (now_us += 1) };
const ids = createIds(clock);
const { connection, db } = await testDatabase();
const writer = createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers });
const [org_id, other] = [ids.next("organization"), ids.next("organization")];
const stored: DecisionRows[] = [];

beforeAll(async () => {
  for (const org of [org_id, other]) await db.tenant(org, (query) => createHead(query, org, "2026-11"));
  for (let day = 1; day <= 6; day++) {
    now_us += day_us;
    stored.push(
      decisionRows(ids, org_id, {
        agent_id: day % 2 === 0 ? "even" : "odd",
        mode: day === 3 ? "shadow" : "live",
        escalate: day === 5,
        ...(day === 4 ? { membrane_id: "mem_of_day_4" } : {}),
        created_at: `2026-11-0${day + 1}T00:00:00.000001Z`,
      }),
    );
  }
  await Promise.all([...stored, decisionRows(ids, other)].map((each) => writer.commit(each)));
});
afterAll(() => writer.close());

const place = (intent_id: string) => stored.findIndex((rows) => rows.entry.intent_id === intent_id) + 1;
const list = async (filter: IntentFilter, before: string | null = null, limit = 50) =>
  (await db.tenant(org_id, (query) => listIntents(query, org_id, filter, before, limit))).rows.map((row) =>
    place(row.intent_id),
  );
const intentOf = (day: number) => (stored[day - 1] as DecisionRows).entry;

describe("a list of intents", () => {
  it("is newest first and shows nothing of other organizations", async () => {
    expect(await list({})).toEqual([6, 5, 4, 3, 2, 1]);
  });

  it("includes the time `from` and excludes the time `to`", async () => {
    const [second, after] = ["2026-11-03T00:00:00.000001Z", "2026-11-03T00:00:00.000002Z"];
    expect([await list({ from: second }), await list({ from: after })]).toEqual([
      [6, 5, 4, 3, 2],
      [6, 5, 4, 3],
    ]);
    expect([await list({ to: second }), await list({ to: after })]).toEqual([[1], [2, 1]]);
  });

  it("continues after a cursor", async () => {
    expect(await list({}, null, 2)).toEqual([6, 5]);
    expect(await list({}, intentOf(5).intent_id, 2)).toEqual([4, 3]);
    expect(await list({}, intentOf(1).intent_id, 2)).toEqual([]);
  });

  it.each<[string, IntentFilter, number[]]>([
    ["agent", { agent_id: "even" }, [6, 4, 2]],
    ["verdict", { verdict: "escalate" }, [5]],
    ["mode", { mode: "shadow" }, [3]],
    ["membrane", { membrane_id: "mem_of_day_4" }, [4]],
    ["membrane without decisions", { membrane_id: "mem_of_day_5" }, []],
    ["from, included", { from: "2026-11-04T00:00:00.000001Z" }, [6, 5, 4, 3]],
    ["to, not included", { to: "2026-11-04T00:00:00.000001Z" }, [2, 1]],
    ["times in any zone", { from: "2026-11-04T02:00:00.000001+02:00", to: "2026-11-05T00:00:00Z" }, [3]],
    ["several together", { agent_id: "even", mode: "live", from: "2026-11-04T00:00:00Z" }, [6, 4]],
  ])("is filtered by %s", async (_, filter, expected) => {
    expect(await list(filter)).toEqual(expected);
  });
});

describe("one intent", () => {
  it("is read with its facts, and not by another organization", async () => {
    const { intent_id, facts, intent, decision } = intentOf(2);
    const read = (org: string) => db.tenant(org, (query) => readIntent(query, org, intent_id));
    expect(await read(org_id)).toMatchObject({
      intent_id,
      agent_id: "even",
      facts: factsOf(JSON.parse(facts)),
      intent: JSON.parse(intent),
      decision: JSON.parse(decision),
      resolution: null,
    });
    expect(await read(other)).toBeUndefined();
  });

  it.each([
    ["a submission without an action", `intent = '{"submitted":{"agent":{"id":"a"}}}'`],
    ["a decision without reasons", `data = '{"verdict":"block","modifications":[]}'`],
    ["facts that are a list", "facts = '[]'"],
    ["facts without their origins", "facts = '{}'"],
    ["facts of an origin that is not there", `facts = '{"origins":[],"security":{"values":{}}}'`],
  ])("that is stored in an unknown form is not acted on: %s", async (_, change) => {
    const { intent_id } = intentOf(6);
    const read = db.tenant(org_id, async (query) => {
      await query(`update ledger set ${change} where org_id = $1 and intent_id = $2`, [org_id, intent_id]);
      return readIntent(query, org_id, intent_id);
    });
    await expect(read).rejects.toThrow(`${intent_id} is stored in an unknown form`);
  });

  it("keeps its first answer byte for byte, and returns its current one with the resolution", async () => {
    const { intent_id, decision } = intentOf(5);
    const first = () => db.tenant(org_id, (query) => readFirstAnswer(query, org_id, intent_id));
    const present = () => db.tenant(org_id, (query) => readDecision(query, org_id, intent_id));
    const pending = await present();
    expect(pending).toMatchObject({ status: "pending", resolution: null });
    expect(pending === undefined ? "" : currentDecision(pending)).toBe(decision);
    expect(await db.system((query) => readFinal(query, [{ org_id, intent_id }]))).toEqual([]);

    await db.query(
      `update escalations set status = 'decided', resolution = '{"outcome":"block"}' where org_id = $1 and intent_id = $2`,
      [org_id, intent_id],
    );
    const final = await present();
    expect(JSON.parse(final === undefined ? "" : currentDecision(final))).toEqual({
      ...JSON.parse(decision),
      outcome: "block",
    });
    expect(await first()).toMatchObject({ decision, execution: null, other_wording: null });
    expect(
      await db.system((query) =>
        readFinal(query, [
          { org_id, intent_id },
          { org_id: other, intent_id },
        ]),
      ),
    ).toEqual([{ org_id, intent_id }]);
  });

  it("that is not stored has no first answer", async () => {
    await expect(db.tenant(org_id, (query) => readFirstAnswer(query, org_id, "int_none"))).rejects.toThrow("int_none");
  });
});

describe("a search", () => {
  const search = (filter: IntentFilter, before: string | null, read_max: number) =>
    db.tenant(org_id, (query) => searchIntents(query, org_id, filter, before, 2, read_max));

  it("stops after the decisions that one request may read, and goes on from there until all are read", async () => {
    const wanted = { tool: "send_money", agent_id: "odd" };
    const full = await search(wanted, null, 2);
    expect([full.intent_ids.map(place), full.last_read]).toEqual([[5, 3], null]);
    const none = await search({ tool: "nothing" }, null, 4);
    expect([none.intent_ids, place(none.last_read ?? "")]).toEqual([[], 3]);
    const rest = await search({ tool: "nothing" }, none.last_read, 4);
    expect(rest).toEqual({ intent_ids: [], last_read: null });
  });
});
