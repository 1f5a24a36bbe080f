import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { testPeople, testPerson } from "../../testing/people/person.ts";
import {
  confirmTotpSeed,
  countPeople,
  deletePerson,
  findPerson,
  forgetRemoved,
  hasOtherAdmin,
  listPeople,
  lockPerson,
  noteRemoved,
  type Person,
  readPerson,
  updatePerson,
  useRecoveryCode,
  useTotpStep,
  wasRemoved,
  writeMailWishes,
  writeRecoveryCodes,
  writeTotpSeed,
} from "./people.ts";

const { db } = await testDatabase();
const at = "2026-11-21T04:00:00.000000Z";
const found = ({ email }: Pick<Person, "email">) => db.system((query) => findPerson(query, email));
const hash = (n: number) => n.toString(16).padStart(64, "0");

test("a change affects one person, and no person of another organization", async () => {
  const [own, colleague, elsewhere] = await testPeople(db);
  await db.system(async (query) => {
    expect(await readPerson(query, own.org_id, elsewhere.user_id)).toBeUndefined();
    expect(await lockPerson(query, own.org_id, elsewhere.user_id)).toBeUndefined();
    await updatePerson(query, own.org_id, own.user_id, { role: "admin", password_hash: "hash" });
    await writeMailWishes(query, own.org_id, own.user_id, { notify: false, mail_rhythm: "daily", digest_hour: 9 });
    await updatePerson(query, own.org_id, elsewhere.user_id, { role: "admin" });
    await updatePerson(query, own.org_id, own.user_id, {});
  });
  const wishes = { notify: false, mail_rhythm: "daily", digest_hour: 9 };
  expect(await found(own)).toEqual({ ...own, role: "admin", password_hash: "hash", ...wishes });
  expect([await found(colleague), await found(elsewhere)]).toEqual([colleague, elsewhere]);
});

test("hasOtherAdmin considers the organization's admins except the given one", async () => {
  const [own, colleague, elsewhere] = await testPeople(db);
  const other = () => db.system((query) => hasOtherAdmin(query, own.org_id, own.user_id));
  const promote = ({ org_id, user_id }: Person) =>
    db.system((query) => updatePerson(query, org_id, user_id, { role: "admin" }));
  await promote(own);
  await promote(elsewhere);
  expect(await other()).toBe(false);
  await promote(colleague);
  expect(await other()).toBe(true);
});

test("lists and counts have the organization's people with the given role, newest first, below the cursor", async () => {
  const [first, second] = await testPeople(db);
  const admin = await testPerson(db, first.org_id, { role: "admin" });
  const list = (role: Person["role"] | null, limit: number, before: string | null = null) =>
    db.system(async (query) =>
      (await listPeople(query, first.org_id, role, limit, before)).map((each) => each.user_id),
    );
  const [newest, middle, oldest] = [first, second, admin]
    .map(({ user_id }) => user_id)
    .sort()
    .reverse();
  expect(await list(null, 9)).toEqual([newest, middle, oldest]);
  expect(await list(null, 1, newest)).toEqual([middle]);
  expect(await list("admin", 9)).toEqual([admin.user_id]);
  expect(await db.system((query) => countPeople(query, first.org_id))).toBe(3);
});

test("deleting a person deletes the second factor, passkeys and address of this person only", async () => {
  const [own, colleague, elsewhere] = await testPeople(db);
  for (const { org_id, user_id } of [own, colleague, elsewhere]) {
    await db.system((query) => writeRecoveryCodes(query, org_id, user_id, [hash(1), hash(2)]));
    await db.query("insert into passkey_index (passkey_id, org_id, user_id) values ($2, $1, $2)", [org_id, user_id]);
    await db.query(
      `insert into passkeys (org_id, passkey_id, user_id, name, public_key, counter, transports, created_at)
       values ($1, $2, $2, '', '', 0, '[]', $3::timestamptz)`,
      [org_id, user_id, at],
    );
  }
  await db.system(async (query) => {
    await deletePerson(query, own.org_id, own.user_id);
    await deletePerson(query, own.org_id, elsewhere.user_id);
  });
  expect(await found(own)).toBeUndefined();
  for (const table of ["people", "recovery_codes", "person_index", "passkeys", "passkey_index"]) {
    const rows = await db.query<{ user_id: string }>(
      `select distinct user_id from ${table} where user_id = any($1) order by 1`,
      [[own, colleague, elsewhere].map(({ user_id }) => user_id)],
    );
    expect(rows.map(({ user_id }) => user_id)).toEqual([colleague.user_id, elsewhere.user_id].sort());
  }
  await testPerson(db, elsewhere.org_id, { email: own.email });
});

test("forgetting a removed address affects this organization and this address only", async () => {
  const [{ org_id }, { org_id: other }] = [await testOrganization(db), await testOrganization(db)];
  const known = (of: string, email: string) => db.system((query) => wasRemoved(query, of, email));
  await db.system(async (query) => {
    for (const of of [org_id, other]) await noteRemoved(query, of, "a@example.com", at);
    await noteRemoved(query, org_id, "B@example.com", at);
    await noteRemoved(query, org_id, "a@example.com", "2026-11-21T05:00:00.000000Z");
  });
  const [row] = await db.query(
    "select removed_at from removed_addresses where org_id = $1 and email = 'a@example.com'",
    [org_id],
  );
  expect(row).toEqual({ removed_at: "2026-11-21T05:00:00.000000Z" });
  expect([await known(org_id, "b@example.com"), await known(other, "b@example.com")]).toEqual([true, false]);
  await db.system((query) => forgetRemoved(query, org_id, "A@example.com"));
  expect([await known(org_id, "a@example.com"), await known(org_id, "b@example.com")]).toEqual([false, true]);
  expect(await known(other, "a@example.com")).toBe(true);
});

test("seed, codes and last used step belong to one person, and a new seed resets the last used step", async () => {
  const [own, colleague] = await testPeople(db);
  const both = [own, colleague];
  const state = async ({ email }: Person) => {
    const { totp_sealed, mfa_enabled } = (await found({ email })) as Person;
    return [totp_sealed, mfa_enabled];
  };
  const use = ({ org_id, user_id }: Person, step: number) =>
    db.system((query) => useTotpStep(query, org_id, user_id, step));
  for (const { org_id, user_id } of both)
    await db.system(async (query) => {
      await writeTotpSeed(query, org_id, user_id, `seed of ${user_id}`);
      await confirmTotpSeed(query, org_id, user_id, at);
    });
  expect([await use(own, 100), await use(own, 100), await use(own, 99), await use(own, 101)]).toEqual([
    ...[true, false, false, true],
  ]);
  expect(await use(colleague, 100)).toBe(true);
  expect([await state(own), await state(colleague)]).toEqual(both.map(({ user_id }) => [`seed of ${user_id}`, true]));
  await db.system((query) => confirmTotpSeed(query, own.org_id, own.user_id, null));
  expect(await state(own)).toEqual([null, false]);
  await db.system((query) => writeTotpSeed(query, own.org_id, own.user_id, "new"));
  expect(await state(own)).toEqual(["new", false]);
  expect(await use(own, 90)).toBe(true);
  expect(await state(colleague)).toEqual([`seed of ${colleague.user_id}`, true]);
  await db.system((query) => confirmTotpSeed(query, own.org_id, own.user_id, at));
  await db.system((query) => writeTotpSeed(query, own.org_id, own.user_id, "not confirmed"));
  expect(await state(own)).toEqual(["not confirmed", false]);
});

test("a recovery code works once for its person, and new codes replace this person's old codes only", async () => {
  const [own, colleague] = await testPeople(db);
  const write = ({ org_id, user_id }: Person, ...codes: number[]) =>
    db.system((query) => writeRecoveryCodes(query, org_id, user_id, codes.map(hash)));
  const use = ({ org_id, user_id }: Person, code: number) =>
    db.system((query) => useRecoveryCode(query, org_id, user_id, hash(code)));
  await write(own, 1, 2);
  await write(colleague, 1, 3);
  expect([await use(own, 3), await use(own, 1), await use(own, 1)]).toEqual([false, true, false]);
  expect(await use(colleague, 1)).toBe(true);
  await write(own, 4);
  expect([await use(own, 2), await use(own, 4), await use(colleague, 3)]).toEqual([false, true, true]);
});
