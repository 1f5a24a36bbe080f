import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { firstIdAt } from "../rows/first-id-at.ts";
import { readAnswerTimes, readAsked, readQueue } from "./overview.ts";

const { db } = await testDatabase();
const [first, last] = ["2026-11-18T12:00:00.000000Z", "2026-11-18T12:59:59.999999Z"];

test("the queue has the number of waiting reviews, the oldest one and the next timeout", async () => {
  const [own, other] = ["org_00000000000000000000000006", "org_00000000000000000000000007"];
  expect(await db.system((query) => readQueue(query, own))).toEqual({
    pending: 0,
    due_soon: 0,
    oldest_at: null,
    next_expires_at: null,
  });
  const escalation = (organization: string, n: number, status: string, mode: string, at: string, expires_at: string) =>
    db.query(
      `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, status, mode, record, created_at, expires_at, demands)
       values ($1, $2, $2, $2, 'a', $3, $4, '{}', $5::timestamptz, $6::timestamptz, '[]')`,
      [organization, `esc_${n}`, status, mode, at, expires_at],
    );
  const [late, later, latest] = [
    "2026-11-18T14:00:00.000000Z",
    "2026-11-18T15:00:00.000000Z",
    "2026-11-18T16:00:00.000000Z",
  ];
  await escalation(own, 1, "pending", "live", last, latest);
  await escalation(own, 2, "pending", "live", late, later);
  await escalation(own, 3, "pending", "test", first, late);
  await escalation(own, 4, "decided", "live", first, late);
  await escalation(other, 5, "pending", "live", first, late);
  expect(await db.system((query) => readQueue(query, own))).toEqual({
    pending: 2,
    due_soon: 2,
    oldest_at: last,
    next_expires_at: later,
  });
});

test("the people of the overview are those asked now, and the times of rulings in the window by membrane", async () => {
  const own = "org_00000000000000000000000008";
  const window = { from: first, to: "2026-11-18T13:00:00.000000Z", membrane_id: null, modes: ["live" as const] };
  const read = () =>
    db.system(async (query) => ({
      asked: await readAsked(query, own),
      ...(await readAnswerTimes(query, own, window)),
    }));
  expect(await read()).toEqual({ asked: [], answers: null, membranes: [] });
  let number = 0;
  const add = (status: string, at: string, record: object, seconds: number | null) => {
    number += 1;
    return db.query(
      `insert into escalations (org_id, escalation_id, intent_id, decision_id, agent_id, status, mode, record, created_at, expires_at,
         demands, closed_at)
       values ($1, $2, $2, $2, 'a', $3, 'live', $4::json, $5::timestamptz, $5::timestamptz + interval '1 day', '[]',
         $5::timestamptz + make_interval(secs => $6::float8))`,
      [
        own,
        `${firstIdAt("escalation", Date.parse(at))}${String(number).padStart(16, "0")}`,
        status,
        record,
        at,
        seconds,
      ],
    );
  };
  const [operators, ann] = [
    { type: "role", id: "operator" },
    { type: "user", id: "ann" },
  ];
  for (const reviewers of [[operators, ann], [operators], []]) await add("pending", first, { reviewers }, null);
  for (const [membrane_id, seconds] of [
    ["mem_a", 10],
    ["mem_a", 20],
    ["mem_a", 120],
    ["mem_b", 1_000],
  ] as const)
    await add("decided", first, { membrane_id }, seconds);
  await add("decided", "2026-11-18T11:59:59.000000Z", { membrane_id: "mem_a" }, 5_000);
  await add("timed_out", first, { membrane_id: "mem_a" }, 9_000);
  expect(await read()).toEqual({
    asked: [
      { reviewer: "role:operator", reviews: 2 },
      { reviewer: "user:ann", reviews: 1 },
      { reviewer: null, reviews: 1 },
    ],
    answers: { reviews: 4, median_seconds: 70, p90_seconds: 736, at_least: false },
    membranes: [
      { membrane_id: "mem_a", name: "", reviews: 3, median_seconds: 20, p90_seconds: 100 },
      { membrane_id: "mem_b", name: "", reviews: 1, median_seconds: 1_000, p90_seconds: 1_000 },
    ],
  });
});
