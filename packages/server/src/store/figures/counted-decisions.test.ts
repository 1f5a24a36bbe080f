import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { addDecided } from "../../testing/database/decided.ts";
import { countedDecisions } from "./counted-decisions.ts";

const { db } = await testDatabase();
const org_id = "org_00000000000000000000000001";
const minute = (n: number) => `2026-11-18T12:0${n}:00.000000Z`;
const message = "x".repeat(1_000);
const reasons = [{ policy_id: "pol", policy: "long", effect: "block", message, unknown_facts: [] }];

async function page(after: number, up_to: number, bytes_max?: number) {
  const range = { org_id: "$1", after: "$2::bigint", up_to: "$3::bigint" };
  const [found] = await db.system((query) =>
    query<{ as_of: number; as_of_at: string | null; policies: number | null }>(
      `with ${countedDecisions(range, bytes_max)} select as_of, as_of_at, (
         select sum(count)::integer from counted where kind = 'policy' and span = 'hour' and membrane_id = '') as policies
       from page`,
      [org_id, after, up_to],
    ),
  );
  return found && [found.as_of, found.as_of_at, found.policies];
}

test("a page ends after the decision that reaches its bytes, and has at least one decision", async () => {
  await addDecided(
    db,
    org_id,
    [1, 2, 3, 4].map((n) => ({ at: minute(n), reasons })),
  );
  expect(await page(0, 8)).toEqual([8, minute(4), 4]);
  expect(await page(0, 8, 1_500)).toEqual([4, minute(2), 2]);
  expect(await page(0, 8, 1)).toEqual([2, minute(1), 1]);
  expect(await page(4, 8, 1_500)).toEqual([8, minute(4), 2]);
  expect(await page(4, 7, 1)).toEqual([7, minute(3), 1]);
});

test("a page without decisions ends where it was asked to end", async () => {
  expect(await page(8, 9)).toEqual([9, null, null]);
  expect(await page(8, 8)).toEqual([8, null, null]);
});
