import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { expireNow } from "../../testing/database/passing-time.ts";
import { mostRows, planOf } from "../../testing/database/plan.ts";
import { meanwhile } from "../../testing/meanwhile.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { organizationOfKey } from "./key-organization.ts";
import {
  countOtherAdmins,
  insertKey,
  isRotationOf,
  keyStands,
  lockKey,
  markRevoked,
  type NewKey,
  noteKeyUses,
  type PresentedKey,
  readPresentedKeys,
  readRotations,
  setKeyLimits,
} from "./keys.ts";

const { db, analyze } = await testDatabase();
const ids = createIds(createClock());
const at = (minutes: number) => `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, -1)}000Z`;

async function key(org_id: string, wanted: Partial<NewKey> = {}): Promise<string> {
  const key_id = ids.next("api_key");
  await db.system((query) =>
    insertKey(query, {
      ...{ org_id, key_id, key_sha256: createHash("sha256").update(key_id).digest(), lineage_id: key_id, name: null },
      ...{
        environment: "live",
        scope: "org",
        role: "admin",
        agent_id: null,
        bindings: null,
        rate_limits: null,
        created_by: null,
        person: null,
      },
      ...{ created_at: at(0), expires_at: at(30), lifetime_seconds: 1_800, rotated_from: null, ...wanted },
    }),
  );
  return key_id;
}

async function organization() {
  const { org_id } = await testOrganization(db);
  await db.query("update api_keys set revoked_at = created_at where org_id = $1", [org_id]);
  return org_id;
}

test("other admin keys are valid keys of this organization with scope org", async () => {
  const [org_id, other] = [await organization(), await organization()];
  const own = await key(org_id);
  const count = () => db.system((query) => countOtherAdmins(query, org_id, own));
  await key(other);
  await key(org_id, { role: "operator" });
  await key(org_id, { scope: "agent", agent_id: "a" });
  const revoked = await key(org_id);
  await db.system((query) => markRevoked(query, org_id, revoked, at(0)));
  await expireNow(db, "api_keys", await key(org_id));
  expect(await count()).toBe(0);
  await key(org_id);
  expect(await count()).toBe(1);
});

test("a key is valid until it expires or is revoked, by the database's time; revoked wins over expired", async () => {
  const org_id = await organization();
  const own = await key(org_id);
  const read = async () => {
    const [row] = await db.named<PresentedKey>(readPresentedKeys, [[createHash("sha256").update(own).digest()]]);
    const locked = await db.system((query) => lockKey(query, org_id, own));
    expect(locked?.state).toBe(row?.state);
    return { state: row?.state, minutes: Math.round((row?.left_us ?? 0) / 60_000_000) };
  };
  expect(await read()).toEqual({ state: "valid", minutes: 30 });
  await expireNow(db, "api_keys", own);
  expect(await read()).toEqual({ state: "expired", minutes: -0 });
  await db.system((query) => markRevoked(query, org_id, own, at(0)));
  expect((await read()).state).toBe("revoked");
});

test("isRotationOf needs one of the given keys to belong to the rotation chain", async () => {
  const [org_id, other] = [await organization(), await organization()];
  const first = await key(org_id);
  const rotated = await key(org_id, { lineage_id: first, rotated_from: first });
  const stranger = await key(org_id);
  const of = (named: readonly string[], lineage_id: string | null, organization = org_id) =>
    db.tenant(organization, (query) => isRotationOf(query, organization, named, lineage_id));
  expect([await of([first], first), await of([stranger, rotated], first)]).toEqual([true, true]);
  expect([await of([stranger], first), await of([], first), await of(["reviewer"], first)]).toEqual([
    ...[false, false, false],
  ]);
  expect([await of([rotated], rotated), await of([first], null), await of([first], first, other)]).toEqual([
    ...[false, false, false],
  ]);
});

test("a key is found in its own organization only; its organization is found among all", async () => {
  const [org_id, other] = [await organization(), await organization()];
  const [own, theirs] = [await key(org_id), await key(other)];
  await db.system(async (query) => {
    expect(await lockKey(query, org_id, own)).toMatchObject({ key_id: own, revoked_at: null });
    expect(await lockKey(query, org_id, theirs)).toBeUndefined();
    expect([await keyStands(query, org_id, own), await keyStands(query, org_id, theirs)]).toEqual([true, false]);
    expect(await markRevoked(query, org_id, theirs, at(1))).toBe(false);
    expect([await organizationOfKey(query, own), await organizationOfKey(query, theirs)]).toEqual([org_id, other]);
    expect(await organizationOfKey(query, "key_unknown")).toBeUndefined();
  });
  const revoked_at = at(1);
  expect(await db.system((query) => markRevoked(query, org_id, own, revoked_at))).toBe(true);
  expect(await db.system((query) => markRevoked(query, org_id, own, at(2)))).toBe(false);
  expect(await db.system((query) => lockKey(query, org_id, own))).toMatchObject({ revoked_at });
  expect(await db.system((query) => keyStands(query, org_id, own))).toBe(false);
});

test("no other transaction can change a locked key until the transaction ends", async () => {
  const org_id = await organization();
  const own = await key(org_id);
  await db.system(async (query) => {
    await lockKey(query, org_id, own);
    const locked = db.system((other) => other("select from api_keys where key_id = $1 for update nowait", [own]));
    await expect(locked).rejects.toThrow(/could not obtain lock/);
  });
});

test("the keys of a rotation chain are found among thousands of others", async () => {
  const org_id = await organization();
  const first = await key(org_id);
  const rotated = await key(org_id, { lineage_id: first, rotated_from: first });
  await db.query(
    `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_at, expires_at, lifetime_seconds, person)
     select $1, 'key_' || n, '', 'key_' || n % 100, 'live', 'org', 'agent', now(), now(), 1, 'key_' || n % 100 from generate_series(1, 10000) as n`,
    [org_id],
  );
  await analyze("api_keys");
  expect(mostRows(await planOf(db, org_id, (query) => readRotations(query, org_id, first)))).toBeLessThan(10);
  expect(await db.tenant(org_id, (query) => readRotations(query, org_id, first))).toEqual([rotated, first]);
  expect(mostRows(await planOf(db, org_id, (query) => readRotations(query, org_id, "key_7")))).toBeLessThan(110);
});

test.each([
  ["another node notes their use", "first"],
  ["another node notes their use", "rotated"],
  ["their limits are set", "first"],
  ["their limits are set", "rotated"],
] as const)("noting the last use while %s, with the %s key locked, causes no deadlock", async (other, held) => {
  const org_id = await organization();
  const first = await key(org_id);
  const rotated = await key(org_id, { lineage_id: first, rotated_from: first });
  const used_at = at(7);
  const noting = (...used: string[]) =>
    db.named(noteKeyUses, [org_id, used, used.map(() => used_at), used.map(() => true)]);
  let runs = 0;
  const setting = () =>
    db.system((query) => {
      runs += 1;
      return setKeyLimits(query, org_id, rotated, { intents: 7 });
    });
  const theirs = other === "their limits are set" ? setting : () => noting(first, rotated);
  const hold = "select from api_keys where key_id = $1 for update";
  for (const begun of [
    [() => noting(rotated, first), theirs],
    [theirs, () => noting(rotated, first)],
  ])
    await meanwhile(db, (query) => query(hold, [held === "first" ? first : rotated]), begun);
  expect(runs).toBe(theirs === setting ? 2 : 0);
  const limits = theirs === setting ? { intents: 7 } : null;
  expect(await db.query("select last_used_at, rate_limits from api_keys where lineage_id = $1", [first])).toEqual([
    ...[
      { last_used_at: used_at, rate_limits: limits },
      { last_used_at: used_at, rate_limits: limits },
    ],
  ]);
});
