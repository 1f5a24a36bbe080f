import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { mostRows, planOf } from "../../testing/database/plan.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import {
  insertPolicy,
  insertPolicyVersion,
  readDocumentsInForce,
  readPolicies,
  readPoliciesInForce,
  readPolicy,
  readPolicyName,
  readPolicyNames,
  readPolicyVersions,
  type StoredPolicy,
  updatePolicy,
} from "./policies.ts";

const { db, analyze } = await testDatabase();
const ids = createIds(createClock());
const at = "2026-11-21T03:00:00.000000Z";
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;

async function policy(
  org_id: string,
  names: readonly string[],
  active: number | null = null,
  status: StoredPolicy["status"] = active === null ? "draft" : "live",
): Promise<StoredPolicy> {
  const policy_id = ids.next("policy");
  const documents = names.map((name) => ({ metadata: { name, title: `title of ${name}` } }) as never);
  const row: StoredPolicy = {
    ...{ policy_id, name: names.at(-1) as string, title: `title of ${names.at(-1)}`, status, version: names.length },
    ...{ active_version: active, sha256: `sha of ${names.at(-1)}`, document: documents.at(-1) as never },
    ...{ created_at: at, updated_at: at },
  };
  await db.system(async (query) => {
    await insertPolicy(query, org_id, row);
    for (const [n, document] of documents.entries()) {
      const version = { policy_id, version: n + 1, sha256: `sha of ${names[n]}`, document };
      await insertPolicyVersion(query, org_id, { ...version, created_at: at, created_by: "key" } as never);
    }
  });
  return row;
}

test("a policy is read with its newest version; a list has the given status, newest first", async () => {
  const [own, other] = await organizations();
  const all = [await policy(own, ["a1", "a2"], 1), await policy(own, ["b1"]), await policy(own, ["c1"])];
  await policy(other, ["d"]);
  const rows = all.sort((a, b) => (a.policy_id < b.policy_id ? 1 : -1));
  const list = (wanted: Partial<Parameters<typeof readPolicies>[2]> = {}) =>
    db.system((query) => readPolicies(query, own, { limit: 9, before: null, ...wanted }));
  expect(await list()).toEqual(rows);
  expect(await list({ limit: 1, before: rows[0]?.policy_id ?? null })).toEqual(rows.slice(1, 2));
  expect(await list({ status: "live" })).toEqual(rows.filter(({ status }) => status === "live"));
  for (const row of rows) {
    expect(await db.system((query) => readPolicy(query, own, row.policy_id))).toEqual(row);
    expect(await db.system((query) => readPolicy(query, other, row.policy_id))).toBeUndefined();
  }
});

test("a list of versions has those of this policy, newest first, below the cursor", async () => {
  const [own] = await organizations();
  const { policy_id } = await policy(own, ["a1", "a2", "a3"]);
  await policy(own, ["b1", "b2"]);
  const list = async (limit: number, before: number | null) =>
    (await db.system((query) => readPolicyVersions(query, own, policy_id, { limit, before }))).map(
      (each) => each.sha256,
    );
  expect([await list(9, null), await list(1, 3)]).toEqual([["sha of a3", "sha of a2", "sha of a1"], ["sha of a2"]]);
});

test("the newest and the active version of another policy hold a name; retired policies are not counted", async () => {
  const [own, other] = await organizations();
  const { policy_id } = await policy(own, ["old", "between", "new"], 1);
  await policy(own, ["gone"], null, "retired");
  await policy(other, ["elsewhere"], 1);
  const name = (asked: string, of = "pol_none") => db.system((query) => readPolicyName(query, own, asked, of));
  expect([await name("old"), await name("new")]).toEqual(Array(2).fill({ count: 1, holder: policy_id }));
  for (const asked of ["between", "elsewhere"]) expect(await name(asked)).toEqual({ count: 1, holder: null });
  expect([await name("new", policy_id), await name("old", policy_id)]).toEqual(
    Array(2).fill({ count: 1, holder: null }),
  );
  expect((await db.system((query) => readPolicyNames(query, own))).sort()).toEqual(["between", "gone", "new", "old"]);
});

test("the active version may be older than the newest, and has its own document", async () => {
  const [own, other] = await organizations();
  const rows = [await policy(own, ["b1"], 1, "shadow"), await policy(own, ["a1", "a2", "a3"], 2)];
  await policy(own, ["draft"]);
  await policy(other, ["x1"], 1);
  const expected = [
    { policy_id: rows[0]?.policy_id, version: 1, mode: "shadow", sha256: "sha of b1" },
    { policy_id: rows[1]?.policy_id, version: 2, mode: "live", sha256: "sha of a2" },
  ].sort((a, b) => ((a.policy_id as string) < (b.policy_id as string) ? -1 : 1));
  expect(await db.system((query) => readPoliciesInForce(query, own))).toEqual(expected);
  const documents = await db.system((query) => readDocumentsInForce(query, own));
  expect(documents.map(({ document: _, ...each }) => each)).toEqual(expected);
  expect(
    documents.map(
      ({ sha256, document }) => `sha of ${(document as { metadata: { name: string } }).metadata.name}` === sha256,
    ),
  ).toEqual([true, true]);
});

test("a change affects one policy only", async () => {
  const [own, other] = await organizations();
  const [row, neighbour] = [await policy(own, ["a1", "a2"]), await policy(own, ["b1", "b2"])];
  const changed = { ...row, status: "live", active_version: 2, updated_at: "2026-11-21T04:00:00.000000Z" } as const;
  await db.system(async (query) => {
    await updatePolicy(query, own, changed);
    await updatePolicy(query, other, { ...neighbour, status: "retired" });
    expect(await readPolicy(query, own, row.policy_id)).toEqual(changed);
    expect(await readPolicy(query, own, neighbour.policy_id)).toEqual(neighbour);
  });
});

test("active versions and holders of names are read without reading other versions", async () => {
  const [own] = await organizations();
  const live = await policy(own, ["a.one", "a.two"], 1);
  await db.query(
    `insert into policies (org_id, policy_id, name, status, version, active_version, created_at, updated_at)
     select $1, 'pol_' || n, 'gone.' || n, 'retired', 40, null, now(), now() from generate_series(1, 500) as n`,
    [own],
  );
  await db.query(
    `insert into policy_versions (org_id, policy_id, version, sha256, document, created_at, created_by)
     select $1, 'pol_' || n, v, '', '{"metadata":{"name":"gone"}}', now(), 'key' from generate_series(1, 500) as n, generate_series(1, 40) as v`,
    [own],
  );
  await analyze("policies, policy_versions");
  const reads: ((query: Query) => Promise<unknown>)[] = [
    (query) => readPoliciesInForce(query, own),
    (query) => readDocumentsInForce(query, own),
    (query) => readPolicyName(query, own, "a.one", "pol_1"),
  ];
  for (const read of reads) expect(mostRows(await planOf(db, own, read))).toBeLessThan(600);
  const read = await Promise.all(reads.map((each) => db.tenant(own, each)));
  expect(read).toMatchObject([
    [{ policy_id: live.policy_id, version: 1, mode: "live", sha256: "sha of a.one" }],
    [{ policy_id: live.policy_id, document: { metadata: { name: "a.one" } } }],
    { count: 1, holder: live.policy_id },
  ]);
});
