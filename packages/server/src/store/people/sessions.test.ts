import { createHash } from "node:crypto";
import { limits } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import type { Query } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { meanwhile } from "../../testing/meanwhile.ts";
import { testPeople } from "../../testing/people/person.ts";
import { withHead } from "../organizations/heads.ts";
import {
  beganWithin,
  countMfaFailure,
  deleteOldSessions,
  deleteSessions,
  endLogin,
  insertSession,
  listSessions,
  noteSeen,
  readMfaFailures,
  readSession,
  sessionStands,
} from "./sessions.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const idle_minutes = limits.session_idle_seconds / 60;
const hash = (session_id: string) => createHash("sha256").update(session_id).digest("hex");

/** In minutes from now. */
interface Begun {
  readonly mfa_pending?: boolean;
  readonly failures?: number;
  readonly begun?: number;
  readonly expires?: number;
}

/** Creates a session. Returns its id, which is also its token. */
async function session(
  { org_id, user_id }: { org_id: string; user_id: string },
  { mfa_pending = false, failures = 0, begun = -20, expires = 50 }: Begun = {},
): Promise<string> {
  const session_id = ids.next("session");
  await db.system(async (query) => {
    await insertSession(query, {
      strong: false,
      ...{ org_id, session_id, user_id, token_sha256: hash(session_id), mfa_pending, client_ip: null },
      ...{ user_agent: null, created_at: at(begun), expires_at: at(expires) },
    });
    for (let n = 1; n <= failures; n += 1) expect(await countMfaFailure(query, org_id, session_id)).toBe(n);
  });
  return session_id;
}

const present = (session_id: string) => db.system((query) => readSession(query, hash(session_id)));
const stored = async (user_id: string) =>
  (
    await db.query<{ session_id: string }>("select session_id from sessions where user_id = $1 order by 1", [user_id])
  ).map((each) => each.session_id);

const people = () => testPeople(db);

test("a session is read with its own person and the epoch of its own organization", async () => {
  const all = await people();
  const [own, , elsewhere] = all;
  const roles = ["reviewer", "operator", "admin"];
  for (const [n, { user_id }] of all.entries())
    await db.query("update people set role = $2 where user_id = $1", [user_id, roles[n]]);
  await db.system((query) => withHead(query, elsewhere.org_id, { raise: ["auth"], audit: [] }));
  const sessions = [await session(all[0]), await session(all[1]), await session(all[2])];
  const epochs = await db.query<{ org_id: string; auth_epoch: number }>("select org_id, auth_epoch from org_heads");
  const epoch = (org_id: string) => epochs.find((each) => each.org_id === org_id)?.auth_epoch;
  expect(epoch(own.org_id)).not.toBe(epoch(elsewhere.org_id));
  for (const [n, { org_id, user_id }] of all.entries())
    expect(await present(sessions[n] as string)).toMatchObject({
      ...{ org_id, user_id, session_id: sessions[n], role: roles[n], auth_epoch: epoch(org_id) },
    });
});

test("a session is over when it has expired or was not seen for a day", async () => {
  const [own] = await people();
  const over = async (begun: Begun) => (await present(await session(own, begun)))?.over;
  expect([await over({}), await over({ expires: 0 }), await over({ expires: 1 })]).toEqual([false, true, false]);
  expect([await over({ begun: -idle_minutes }), await over({ begun: 1 - idle_minutes })]).toEqual([true, false]);
  const seen = await present(await session(own, { begun: -3 }));
  expect(Math.abs((seen?.unseen_seconds ?? 0) - 180)).toBeLessThan(30);
});

test("wrong second factors count in a person's unexpired logins, not within sessions", async () => {
  const [own, colleague] = await people();
  await session(own, { mfa_pending: true, failures: 2, expires: 0 });
  await session(own, { mfa_pending: true, expires: 40 });
  await session(own, { failures: 4 });
  await session(colleague, { mfa_pending: true, failures: 1, expires: 45 });
  const failures = () => db.system((query) => readMfaFailures(query, own.org_id, own.user_id));
  expect(await failures()).toEqual({ failures: 0, left_seconds: 0 });
  await session(own, { mfa_pending: true, failures: 3, expires: 20 });
  await session(own, { mfa_pending: true, failures: 2, expires: 10 });
  const counted = await failures();
  expect(counted.failures).toBe(5);
  expect(Math.abs(counted.left_seconds - 1_200)).toBeLessThan(30);
});

test("ending a login keeps its failures, its person's session and the logins of others", async () => {
  const [own, colleague] = await people();
  const [ended, other, signed_in, theirs] = [
    ...[await session(own, { mfa_pending: true, failures: 1 }), await session(own, { mfa_pending: true })],
    ...[await session(own), await session(colleague, { mfa_pending: true })],
  ] as [string, string, string, string];
  await db.system(async (query) => {
    for (const session_id of [ended, signed_in]) await endLogin(query, own.org_id, session_id);
  });
  expect(await present(ended)).toBeUndefined();
  for (const session_id of [other, signed_in, theirs]) expect(await present(session_id)).toBeDefined();
  expect(await stored(own.user_id)).toEqual([ended, other, signed_in].sort());
});

test("ending one or all sessions of a person affects no other person, and keeps only logins with wrong second factors", async () => {
  const [own, colleague, elsewhere] = await people();
  const theirs = [await session(colleague), await session(colleague, { mfa_pending: true }), await session(elsewhere)];
  const guessed = await session(own, { mfa_pending: true, failures: 1 });
  const [waiting, mistaken, first, second] = [
    ...[await session(own, { mfa_pending: true }), await session(own, { failures: 2 })],
    ...[await session(own), await session(own)],
  ] as [string, string, string, string];
  const end = (only?: string) =>
    db.system((query) => deleteSessions(query, own.org_id, own.user_id, only === undefined ? {} : { only }));
  expect(await end(theirs[0])).toBe(0);
  expect(await end(first)).toBe(1);
  expect(await present(first)).toBeUndefined();
  expect(await stored(own.user_id)).toEqual([guessed, waiting, mistaken, second].sort());
  for (const session_id of [guessed, waiting, mistaken, second, ...theirs])
    expect(await present(session_id)).toBeDefined();
  expect(await end()).toBe(4);
  for (const session_id of [guessed, waiting, mistaken, second]) expect(await present(session_id)).toBeUndefined();
  expect(await stored(own.user_id)).toEqual([guessed]);
  for (const session_id of theirs) expect(await present(session_id)).toBeDefined();
});

test("a person's list has its open sessions, newest first, page by page", async () => {
  const [own, colleague] = await people();
  await session(colleague);
  await session(own, { mfa_pending: true });
  await session(own, { expires: 0 });
  await session(own, { begun: -idle_minutes });
  const open = [await session(own), await session(own, { begun: 1 - idle_minutes }), await session(own)].reverse();
  const list = async (limit = 9, before: string | null = null) => {
    const { org_id, user_id } = own;
    const found = await db.tenant(org_id, (query) => listSessions(query, org_id, user_id, limit, before));
    return found.map(({ session_id }) => session_id);
  };
  expect(await list()).toEqual(open);
  expect(await list(2)).toEqual(open.slice(0, 2));
  expect(await list(2, open[0])).toEqual(open.slice(1));
});

test("notes and questions about a session affect this session and its person only", async () => {
  const [own, colleague] = await people();
  const [seen, other, theirs] = [
    ...[await session(own, { begun: -31 }), await session(own, { begun: -22 }), await session(colleague)],
  ] as [string, string, string];
  await db.system((query) => noteSeen(query, { ...own, session_id: seen }));
  const ago = "round(extract(epoch from clock_timestamp() - last_seen_at) / 60)::integer as minutes";
  const times = (text: string, values: string[]) => db.query(text, [values]);
  expect(
    await times(`select user_id, ${ago} from people where user_id = any($1) order by 1`, [
      ...[own.user_id, colleague.user_id],
    ]),
  ).toEqual([
    { user_id: own.user_id, minutes: 0 },
    { user_id: colleague.user_id, minutes: null },
  ]);
  expect(
    await times(`select ${ago} from sessions where session_id = any($1) order by session_id`, [seen, other, theirs]),
  ).toEqual([0, 22, 20].map((minutes) => ({ minutes })));
  await db.tenant(own.org_id, async (query) => {
    const within = (session_id: string, minutes: number) => beganWithin(query, own.org_id, session_id, minutes * 60);
    expect([await within(other, 21), await within(other, 23), await within(seen, 23)]).toEqual([false, true, false]);
    expect(await within("ses_unknown", 23)).toBeUndefined();
    expect([await sessionStands(query, own.org_id, seen), await sessionStands(query, own.org_id, "ses_none")]).toEqual([
      ...[true, false],
    ]);
  });
});

test("sessions that are over or idle are deleted with their cookies, and no others", async () => {
  for (const table of ["sessions", "session_index"]) await db.query(`delete from ${table}`);
  const [own] = await people();
  const open = await session(own);
  const remove = () => db.system((query) => deleteOldSessions(query));
  expect(await remove()).toBe(0);
  const [over, idle] = [await session(own, { expires: 0 }), await session(own, { begun: -idle_minutes })];
  expect(await remove()).toBe(2);
  expect([await present(over), await present(idle), await stored(own.user_id)]).toEqual([undefined, undefined, [open]]);
  expect(await present(open)).toBeDefined();
  // An ended login still counts as a deleted row, because a pass ends at the first page without one.
  const login = await session(own, { mfa_pending: true, failures: 1, expires: 0 });
  await db.system((query) => endLogin(query, own.org_id, login));
  expect([await remove(), await stored(own.user_id)]).toEqual([1, [open]]);
});

describe("deleting old sessions while a person's sessions are ended causes no deadlock", () => {
  test.each(
    ["sessions", "session_index"].flatMap((held) => [
      [held, "cleaning"],
      [held, "ending"],
    ]),
  )("with its row of %s held, %s first", async (held, first) => {
    for (const table of ["sessions", "session_index"]) await db.query(`delete from ${table}`);
    const [own] = await people();
    const over = await session(own, { expires: 0 });
    const open = await session(own);
    let runs = 0;
    const counted = (work: (query: Query) => Promise<unknown>) => () =>
      db.system((query) => {
        runs += 1;
        return work(query);
      });
    const ending = counted((query) => deleteSessions(query, own.org_id, own.user_id));
    const cleaning = counted((query) => deleteOldSessions(query));
    const hold = `select from ${held} where token_sha256 = decode($1, 'hex') for update`;
    await meanwhile(
      db,
      (query) => query(hold, [hash(over)]),
      first === "cleaning" ? [cleaning, ending] : [ending, cleaning],
    );
    expect(runs).toBe(2);
    for (const session_id of [over, open]) expect(await present(session_id)).toBeUndefined();
    expect(await stored(own.user_id)).toEqual([]);
  });

  test("a session that is noted as seen at that moment stays", async () => {
    const [own] = await people();
    const idle = await session(own, { begun: -idle_minutes });
    await meanwhile(db, (query) => noteSeen(query, { ...own, session_id: idle }), [
      () => db.system((query) => deleteOldSessions(query)),
    ]);
    expect(await present(idle)).toBeDefined();
  });
});
