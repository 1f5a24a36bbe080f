import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { readQueue } from "./overview.ts";

const { db } = await testDatabase();
const [first, last] = ["2026-11-18T12:00:00.000000Z", "2026-11-18T12:59:59.999999Z"];

test("the queue has the number of waiting reviews, the oldest one and the next timeout", async () => {
  const [own, other] = ["org_00000000000000000000000006", "org_00000000000000000000000007"];
  expect(await db.system((query) => readQueue(query, own))).toEqual({
    pending: 0,
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
    oldest_at: last,
    next_expires_at: later,
  });
});
