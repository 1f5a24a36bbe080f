import type { Membrane } from "@countersign/contract";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import {
  insertMembrane,
  listMembranes,
  readMembrane,
  readMembraneName,
  readMembranes,
  updateMembrane,
} from "./membranes.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = "2026-11-21T03:00:00.000000Z";

async function organization() {
  const { org_id } = await testOrganization(db);
  const [own] = (await db.system((query) => readMembranes(query, org_id))) as [Membrane];
  for (const name of ["second", "third"]) {
    const membrane = { ...own, membrane_id: ids.next("membrane"), name, is_default: false };
    await db.system((query) => insertMembrane(query, org_id, membrane));
  }
  const all = await db.system((query) => readMembranes(query, org_id));
  all.sort((a, b) => (a.membrane_id < b.membrane_id ? -1 : 1));
  return { org_id, all: all as [Membrane, Membrane, Membrane] };
}

test("the default membrane comes first, then the others by id; a list has the newest first, below the cursor", async () => {
  const { org_id, all } = await organization();
  await organization();
  await db.query("update membranes set is_default = false where org_id = $1", [org_id]);
  await db.query("update membranes set is_default = true where membrane_id = $1", [all[1].membrane_id]);
  await db.query("update membranes set is_default = false where membrane_id = $1", [all[0].membrane_id]);
  const names = (rows: readonly Membrane[]) => rows.map(({ membrane_id }) => membrane_id);
  const [first, second, third] = names(all);
  expect(names(await db.system((query) => readMembranes(query, org_id)))).toEqual([second, first, third]);
  const list = async (limit: number, before: string | null) =>
    names((await db.system((query) => listMembranes(query, org_id, before, limit))).rows);
  expect([await list(9, null), await list(1, third as string)]).toEqual([[third, second, first], [second]]);
});

test("a change writes every changeable member of one membrane of this organization", async () => {
  const [own, other] = [await organization(), await organization()];
  const [kept, row, last] = own.all;
  const changed: Membrane = {
    ...{ ...row, name: "changed", status: "live", default_verdict: "block", packs: ["security"] },
    ...{ thresholds: { escalate_at: 0.25, block_at: 0.5 }, facts_max_age: { user: 60 } as never },
    escalation: { ...row.escalation, expires_in_seconds: 61 } as never,
  };
  await db.system(async (query) => {
    await updateMembrane(query, own.org_id, changed, at);
    await updateMembrane(query, other.org_id, { ...last, name: "of another" }, at);
    for (const membrane of [kept, changed, last])
      expect(await readMembrane(query, own.org_id, membrane.membrane_id)).toEqual(membrane);
    expect(await readMembrane(query, other.org_id, row.membrane_id)).toBeUndefined();
    const times = await query("select updated_at = $2::timestamptz as now from membranes where membrane_id = any($1)", [
      ...[own.all.map(({ membrane_id }) => membrane_id), at],
    ]);
    expect(times.filter((each) => each["now"] === true)).toHaveLength(1);
  });
});

test("the holder of a name is another membrane of the organization", async () => {
  const [own, other] = [await organization(), await organization()];
  const second = own.all.find(({ name }) => name === "second") as Membrane;
  await db.query("update membranes set name = 'elsewhere' where org_id = $1 and name = 'third'", [other.org_id]);
  const holder = (name: string, membrane_id: string) =>
    db.system((query) => readMembraneName(query, own.org_id, name, membrane_id));
  expect(await holder("second", "mem_none")).toEqual({ count: 3, holder: second.membrane_id });
  expect(await holder("second", second.membrane_id)).toEqual({ count: 3, holder: null });
  expect(await holder("elsewhere", "mem_none")).toEqual({ count: 3, holder: null });
});
