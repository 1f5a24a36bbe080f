/** Which tokens are good for what, and whose. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { meanwhile } from "../../testing/meanwhile.ts";
import { testPeople } from "../../testing/people/person.ts";
import type { Person } from "./people.ts";
import {
  deleteOldTokens,
  deleteToken,
  deleteTokensOf,
  hasTokenOf,
  insertToken,
  readToken,
  type TokenKind,
  takeToken,
} from "./person-tokens.ts";

const { db } = await testDatabase();
const at = (minute: number) => `2026-11-21T03:${String(minute).padStart(2, "0")}:00.000000Z`;
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const kinds: readonly TokenKind[] = ["signup", "password", "invitation", "passkey", "sso"];

const give = (text: string, kind: TokenKind, { org_id, user_id }: Person, minute = 30) =>
  db.system((query) => insertToken(query, kind, hash(text), org_id, { user_id }, at(minute)));
const read = (text: string, kind: TokenKind, minute = 0) =>
  db.system((query) => readToken(query, kind, hash(text), at(minute)));
const take = (text: string, kind: TokenKind, minute = 0) =>
  db.system((query) => takeToken(query, kind, hash(text), at(minute)));

test("a token is good for what it was given for, until its time is over, and is taken once", async () => {
  const [own] = await testPeople(db);
  for (const kind of kinds) await give(kind, kind, own);
  const subject = { org_id: own.org_id, subject: { user_id: own.user_id } };
  for (const text of kinds)
    for (const kind of kinds) {
      expect(await read(text, kind)).toEqual(text === kind ? subject : undefined);
      if (text !== kind) expect(await take(text, kind)).toBeUndefined();
    }
  for (const kind of kinds) {
    expect([await read(kind, kind, 30), await take(kind, kind, 30)]).toEqual([undefined, undefined]);
    expect(await read(kind, kind, 29)).toEqual(subject);
    expect([await take(kind, kind, 29), await take(kind, kind, 29)]).toEqual([subject, undefined]);
    expect(await read(kind, kind)).toBeUndefined();
  }
});

test("a token that a clock far ahead has made is good for nothing once it is set right; one of a day is", async () => {
  const [own] = await testPeople(db);
  for (const [kind, seconds] of [
    ["signup", 86_400],
    ["password", 3_600],
    ["invitation", 7 * 86_400],
    ["passkey", 300],
    ["sso", 600],
  ] as const) {
    await give(`ahead ${kind}`, kind, own);
    const ahead = (more: number) => new Date(Date.parse(at(30)) - (seconds + 86_400 + more) * 1_000).toISOString();
    const asked = (ask: typeof readToken, now: string) =>
      db.system((query) => ask(query, kind, hash(`ahead ${kind}`), now));
    expect([await asked(readToken, ahead(1)), await asked(takeToken, ahead(1))], kind).toEqual([undefined, undefined]);
    expect(await asked(readToken, ahead(0)), kind).toBeDefined();
    expect(await asked(takeToken, ahead(0)), kind).toBeDefined();
  }
});

test("a person has a token, and loses it, by kind and by person", async () => {
  const [own, colleague] = await testPeople(db);
  const has = (kind: TokenKind, { org_id, user_id }: Person, after = 0, by = 59) =>
    db.system((query) => hasTokenOf(query, kind, org_id, user_id, at(after), at(by)));
  await give("mine", "password", own, 20);
  await give("mine too", "password", own, 30);
  expect([await has("password", own, 29), await has("password", own, 30)]).toEqual([true, false]);
  expect([await has("password", own, 20, 29), await has("password", own, 20, 30)]).toEqual([false, true]);
  expect([await has("passkey", own), await has("password", colleague)]).toEqual([false, false]);
  await give("challenge", "passkey", own);
  await give("theirs", "password", colleague);
  await db.system((query) => deleteTokensOf(query, "password", own.org_id, own.user_id));
  expect([await has("password", own), await has("passkey", own), await has("password", colleague)]).toEqual([
    ...[false, true, true],
  ]);
  await db.system((query) => deleteToken(query, hash("theirs")));
  expect([await has("password", colleague), await has("passkey", own)]).toEqual([false, true]);
});

test("tokens go when their time is over, at most 1,000 in one go", async () => {
  const [own] = await testPeople(db);
  await db.query("delete from person_tokens");
  await give("over", "password", own, 20);
  await give("good", "password", own, 21);
  const remove = () => db.system((query) => deleteOldTokens(query, at(20)));
  expect([await remove(), await remove()]).toEqual([1, 0]);
  expect(await read("good", "password")).toBeDefined();
  await db.query(
    `insert into person_tokens (token_sha256, kind, org_id, subject, expires_at)
     select sha256(n::text::bytea), 'signup', null, '{}', $1::timestamptz from generate_series(1, 1001) as n`,
    [at(1)],
  );
  expect([await remove(), await remove()]).toEqual([1_000, 1]);
});

test("tokens that are over go without waiting for whoever takes back those of a person", async () => {
  const [own] = await testPeople(db);
  await db.query("delete from person_tokens");
  for (const text of ["one", "two", "three"]) await give(text, "password", own, 1);
  let deleted = 0;
  const cleaning = async () => {
    deleted = await db.system((query) => deleteOldTokens(query, at(20)));
  };
  const takingBack = (query: Query) => deleteTokensOf(query, "password", own.org_id, own.user_id);
  const hold = "select from person_tokens where token_sha256 = decode($1, 'hex') for update";
  await meanwhile(db, (query) => query(hold, [hash("two")]), [cleaning, () => db.system(takingBack)]);
  expect(deleted).toBe(2);
  expect(await db.query("select from person_tokens")).toEqual([]);
});
