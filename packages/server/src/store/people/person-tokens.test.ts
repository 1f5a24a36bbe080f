import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { meanwhile } from "../../testing/meanwhile.ts";
import { testPeople } from "../../testing/people/person.ts";
import type { Person } from "./people.ts";
import {
  deleteOldTokens,
  deleteTokens,
  deleteTokensOf,
  hasRecentToken,
  insertToken,
  readToken,
  type TokenKind,
  takeToken,
} from "./person-tokens.ts";

const { db } = await testDatabase();
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const kinds: readonly TokenKind[] = ["signup", "password", "invitation", "passkey", "sso"];

const give = (text: string, kind: TokenKind, { org_id, user_id }: Person) =>
  db.system((query) => insertToken(query, kind, hash(text), org_id, { user_id }));
const read = (text: string, kind: TokenKind) => db.system((query) => readToken(query, kind, hash(text)));
const take = (text: string, kind: TokenKind) => db.system((query) => takeToken(query, kind, hash(text)));
const ends = (text: string, seconds = 0) =>
  db.query(
    `update person_tokens set expires_at = clock_timestamp() + make_interval(secs => $2::integer)
     where token_sha256 = decode($1, 'hex')`,
    [hash(text), seconds],
  );

test("a token is valid for its kind until it expires, and can be taken once", async () => {
  const [own] = await testPeople(db);
  for (const kind of kinds) await give(kind, kind, own);
  const subject = { org_id: own.org_id, subject: { user_id: own.user_id } };
  for (const text of kinds)
    for (const kind of kinds) {
      expect(await read(text, kind)).toEqual(text === kind ? subject : undefined);
      if (text !== kind) expect(await take(text, kind)).toBeUndefined();
    }
  for (const kind of kinds) {
    await ends(kind);
    expect([await read(kind, kind), await take(kind, kind)]).toEqual([undefined, undefined]);
    await ends(kind, 60);
    expect(await read(kind, kind)).toEqual(subject);
    expect([await take(kind, kind), await take(kind, kind)]).toEqual([subject, undefined]);
    expect(await read(kind, kind)).toBeUndefined();
  }
});

test.each([
  ["signup", 86_400],
  ["password", 3_600],
  ["invitation", 7 * 86_400],
  ["passkey", 300],
  ["sso", 600],
] as const)("a token for %s lives for %i s", async (kind, seconds) => {
  const [own] = await testPeople(db);
  const text = `life of ${kind}`;
  await give(text, kind, own);
  const [left] = await db.query<{ seconds: number }>(
    "select extract(epoch from expires_at - now())::float8 as seconds from person_tokens where token_sha256 = decode($1, 'hex')",
    [hash(text)],
  );
  expect(Math.abs((left?.seconds ?? 0) - seconds)).toBeLessThan(30);
});

test("recent tokens are found and deleted by kind and person", async () => {
  const [own, colleague] = await testPeople(db);
  const has = (kind: TokenKind, { org_id, user_id }: Person, seconds = 60) =>
    db.system((query) => hasRecentToken(query, kind, org_id, user_id, seconds));
  await give("mine", "password", own);
  await give("mine too", "password", own);
  await ends("mine too", 1_800);
  expect([await has("password", own), await has("passkey", own), await has("password", colleague)]).toEqual([
    ...[true, false, false],
  ]);
  await ends("mine", 3_540);
  expect([await has("password", own), await has("password", own, 120)]).toEqual([false, true]);
  await give("challenge", "passkey", own);
  await give("theirs", "password", colleague);
  await db.system((query) => deleteTokensOf(query, "password", own.org_id, own.user_id));
  expect([await has("password", own, 3_600), await has("passkey", own), await has("password", colleague)]).toEqual([
    ...[false, true, true],
  ]);
  await db.system((query) => deleteTokens(query, [hash("theirs")]));
  expect([await has("password", colleague), await has("passkey", own)]).toEqual([false, true]);
});

test("expired tokens are deleted, at most 1,000 at once", async () => {
  const [own] = await testPeople(db);
  await db.query("delete from person_tokens");
  await give("over", "password", own);
  await ends("over");
  await give("good", "password", own);
  const remove = () => db.system((query) => deleteOldTokens(query));
  expect([await remove(), await remove()]).toEqual([1, 0]);
  expect(await read("good", "password")).toBeDefined();
  await db.query(
    `insert into person_tokens (token_sha256, kind, org_id, subject, expires_at)
     select sha256(n::text::bytea), 'signup', null, '{}', now() from generate_series(1, 1001) as n`,
  );
  expect([await remove(), await remove()]).toEqual([1_000, 1]);
});

test("expired tokens are deleted without waiting for a transaction that deletes a person's tokens", async () => {
  const [own] = await testPeople(db);
  await db.query("delete from person_tokens");
  for (const text of ["one", "two", "three"]) await give(text, "password", own);
  await db.query("update person_tokens set expires_at = now()");
  let deleted = 0;
  const cleaning = async () => {
    deleted = await db.system((query) => deleteOldTokens(query));
  };
  const takingBack = (query: Query) => deleteTokensOf(query, "password", own.org_id, own.user_id);
  const hold = "select from person_tokens where token_sha256 = decode($1, 'hex') for update";
  await meanwhile(db, (query) => query(hold, [hash("two")]), [cleaning, () => db.system(takingBack)]);
  expect(deleted).toBe(2);
  expect(await db.query("select from person_tokens")).toEqual([]);
});
