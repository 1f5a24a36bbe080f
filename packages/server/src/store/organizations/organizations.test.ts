import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { createHead } from "./heads.ts";
import {
  insertIntake,
  insertOrganization,
  listOrganizations,
  readOrganizationName,
  setPlan,
  takeIntake,
} from "./organizations.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());

test("each organization has its own head and plan, and the list is sorted by creation time, then by id", async () => {
  const all = [5, 4, 4].map((minute, n) => ({
    ...{ org_id: ids.next("organization"), name: `name ${n}`, email: null, description: "", plan_id: "small" },
    ...{ included_actions: n, created_at: `2026-11-21T03:0${minute}:00.000000Z` },
  }));
  for (const [n, each] of all.entries())
    await db.system(async (query) => {
      expect(await insertOrganization(query, each)).toBe(true);
      expect(await insertOrganization(query, { ...each, name: "again" })).toBe(false);
      await createHead(query, each.org_id, "2026-11", 10 + n);
    });
  const [late, ...early] = all as [(typeof all)[0], ...typeof all];
  early.sort((a, b) => (a.org_id < b.org_id ? -1 : 1));
  const list = () => db.system((query) => listOrganizations(query));
  const listed = (each: (typeof all)[0]) => ({
    ...{ ...each, hard_limit: 10 + all.indexOf(each), usage_period: "2026-11", usage_used: 0 },
  });
  expect(await list()).toEqual([...early, late].map(listed));
  for (const { org_id, name } of all)
    expect(await db.system((query) => readOrganizationName(query, org_id))).toBe(name);
  await db.system(async (query) => {
    expect(await setPlan(query, late.org_id, "large", null)).toBe(true);
    expect(await setPlan(query, "org_none", "large", null)).toBe(false);
  });
  expect(await list()).toEqual([...early.map(listed), { ...listed(late), plan_id: "large", included_actions: null }]);
});

test("an intake is used once, by one organization", async () => {
  const add = (intake_id: string) =>
    db.system((query) => insertIntake(query, {} as never, { intake_id } as never, "2026-11-21T03:00:00.000000Z"));
  await add("int_1");
  await add("int_2");
  const take = (intake_id: string, org_id: string) => db.system((query) => takeIntake(query, intake_id, org_id));
  expect(await take("int_1", "org_1")).toEqual({ intake_id: "int_1" });
  expect([await take("int_1", "org_2"), await take("int_1", "org_1"), await take("int_none", "org_1")]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect(await take("int_2", "org_2")).toEqual({ intake_id: "int_2" });
});
