import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { testPeople } from "../../testing/people/person.ts";
import { deletePasskey, findPasskey, insertPasskey, listPasskeys, notePasskeyUse } from "./passkeys.ts";
import type { Person } from "./people.ts";

const { db } = await testDatabase();
const at = (minute: number) => `2026-11-21T03:${String(minute).padStart(2, "0")}:00.000000Z`;

const add = ({ org_id, user_id }: Person, passkey_id: string, created_at = at(0), counter = 0) =>
  db.system((query) =>
    insertPasskey(query, {
      ...{ org_id, user_id, passkey_id, name: passkey_id, public_key: Buffer.from(`key of ${passkey_id}`), counter },
      ...{ transports: [], created_at },
    }),
  );
const list = async ({ org_id, user_id }: Person) =>
  (await db.tenant(org_id, (query) => listPasskeys(query, org_id, user_id))).map(({ passkey_id }) => passkey_id);
const find = (passkey_id: string) => db.system((query) => findPasskey(query, passkey_id));

test("a person has its own passkeys, newest first, and deletes no other", async () => {
  const [own, colleague, elsewhere] = await testPeople(db);
  for (const [n, id] of ["b", "a", "d"].entries()) await add(own, id, at(n));
  await add(own, "c", at(2));
  await add(colleague, "theirs");
  await add(elsewhere, "far");
  expect(await add(colleague, "a")).toBe(false);
  expect([await list(own), await list(colleague), await list(elsewhere)]).toEqual([
    ...[["d", "c", "a", "b"], ["theirs"], ["far"]],
  ]);
  expect(await find("a")).toMatchObject({
    org_id: own.org_id,
    user_id: own.user_id,
    public_key: Buffer.from("key of a"),
  });
  const remove = ({ org_id, user_id }: Person, id: string) =>
    db.system((query) => deletePasskey(query, org_id, user_id, id));
  expect([await remove(own, "theirs"), await remove({ ...elsewhere, org_id: own.org_id }, "far")]).toEqual([
    ...[false, false],
  ]);
  expect([await remove(own, "a"), await remove(own, "a")]).toEqual([true, false]);
  expect(await find("a")).toBeUndefined();
  for (const id of ["theirs", "far"]) expect(await find(id)).toBeDefined();
  expect(await list(own)).toEqual(["d", "c", "b"]);
  expect(await add(colleague, "a")).toBe(true);
});

test("a use is noted once for each count, in order, and always without a count", async () => {
  const [own, colleague] = await testPeople(db);
  await add(own, "counts", at(0), 5);
  await add(own, "none");
  await add(colleague, "other", at(0), 5);
  const use = (passkey_id: string, counter: number) =>
    db.system((query) => notePasskeyUse(query, { org_id: own.org_id, passkey_id }, counter, at(9)));
  expect([await use("counts", 6), await use("counts", 6), await use("counts", 5), await use("counts", 0)]).toEqual([
    ...[true, false, false, false],
  ]);
  expect([await use("none", 0), await use("none", 0), await use("none", 1), await use("none", 0)]).toEqual([
    ...[true, true, true, false],
  ]);
  expect(await use("gone", 1)).toBe(false);
  expect([(await find("counts"))?.counter, (await find("none"))?.counter, (await find("other"))?.counter]).toEqual([
    ...[6, 1, 5],
  ]);
});
