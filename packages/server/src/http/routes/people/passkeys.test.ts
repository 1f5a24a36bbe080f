import { randomBytes } from "node:crypto";
import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../../edge/clock.ts";
import { createIds } from "../../../edge/ids.ts";
import type { Mail } from "../../../ports.ts";
import { insertPerson } from "../../../store/people/people.ts";
import { testDatabase } from "../../../testing/database/database.ts";
import { letPass } from "../../../testing/database/passing-time.ts";
import { meanwhile } from "../../../testing/meanwhile.ts";
import { cookieCalls } from "../../../testing/nodes/cookie-calls.ts";
import { call, testOrganization } from "../../../testing/nodes/http-node.ts";
import { serviceNode } from "../../../testing/nodes/service-node.ts";
import { cheapPasswords } from "../../../testing/people/passwords.ts";
import { type Lies, softwareAuthenticator } from "../../../testing/people/software-authenticator.ts";

const database = await testDatabase();
const ids = createIds(createClock());
const origin = "https://countersign.example";
const mails: Mail[] = [];
const mailer = { delivers: true, send: async (mail: Mail) => void mails.push(mail) };
const password = "correct horse battery staple";
let nodes: Awaited<ReturnType<typeof serviceNode>>[];
let password_hash: string;
beforeAll(async () => {
  const passwords = cheapPasswords();
  const parts = { passwords, mailer, config: { public_url: origin } };
  nodes = [await serviceNode(database, parts), await serviceNode(database, parts)];
  password_hash = await passwords.hash(password);
});

const send = cookieCalls((node) => nodes[node]?.url as string);

let numbers = 0;
async function somebody() {
  const org = await testOrganization(database.db);
  const { org_id } = org;
  const user_id = ids.next("user");
  const email = `person-${++numbers}@example.com`;
  const created_at = new Date().toISOString();
  const person = { org_id, user_id, email, role: "admin", password_hash, created_at } as const;
  await database.db.system((query) => insertPerson(query, person));
  const { cookie } = await send("POST", "/v1/auth/login", { body: { email, password } });
  return { org, org_id, user_id, email, cookie: cookie as string, authenticator: softwareAuthenticator(origin) };
}

type Somebody = Awaited<ReturnType<typeof somebody>>;

const options = async (cookie: string, node = 0) =>
  (await send("POST", "/v1/auth/passkeys/registration/options", { cookie, node })).json.options;
const loginOptions = async () => (await send("POST", "/v1/auth/passkeys/login/options")).json.options;
const register = (cookie: string, credential: unknown, name?: string) =>
  send("POST", "/v1/auth/passkeys/registration", { cookie, body: { credential, ...(name && { name }) } });
const logIn = (credential: unknown, node = 0) =>
  send("POST", "/v1/auth/passkeys/login", { body: { credential }, node });

async function registered({ cookie, authenticator }: Somebody, lies: Lies = {}): Promise<string> {
  const answer = await register(cookie, authenticator.create(await options(cookie), lies));
  expect(answer.status).toBe(201);
  return answer.json.passkey.passkey_id;
}

const auditTypes = async (cookie: string) =>
  (await send("GET", "/v1/audit", { cookie })).json.audit.map(({ type }: { type: string }) => type);

test("a session that began with a passkey has the second factor that the organization requires, also after a new password", async () => {
  const person = await somebody();
  await registered(person);
  const { cookie: strong = "" } = await logIn(person.authenticator.get(await loginOptions()));
  const body = { second_factor_required: true };
  expect((await send("PATCH", "/v1/organization", { cookie: person.cookie, body })).code).toBe("state_conflict");
  expect((await send("PATCH", "/v1/organization", { cookie: strong, body })).status).toBe(200);
  expect((await send("GET", "/v1/organization", { cookie: person.cookie })).code).toBe("second_factor_required");
  const more = { cookie: person.cookie, body: { password } };
  expect((await send("POST", "/v1/auth/passkeys/registration/options", more)).status).toBe(403);
  const change = { current_password: password, password: `${password} 2` };
  const changed = await send("POST", "/v1/auth/password", { cookie: strong, body: change });
  expect((await send("GET", "/v1/organization", { cookie: changed.cookie as string })).status).toBe(200);
});

describe("registering", () => {
  test("a passkey is listed with its name and is in the trail, and its owner gets a mail", async () => {
    const person = await somebody();
    const credential = person.authenticator.create(await options(person.cookie));
    const answer = await register(person.cookie, credential, "Laptop");
    expect(answer.json.passkey).toMatchObject({ passkey_id: credential.id, name: "Laptop", last_used_at: null });
    const { passkeys } = (await send("GET", "/v1/auth/passkeys", { cookie: person.cookie })).json;
    expect(passkeys).toEqual([answer.json.passkey]);
    expect(await auditTypes(person.cookie)).toContain("passkey_registered");
    expect((await options(person.cookie)).excludeCredentials).toMatchObject([{ id: credential.id }]);
    const told = () => mails.filter(({ to, text }) => to === person.email && text.startsWith("A passkey was added"));
    await expect.poll(() => told().length).toBe(1);
  });

  test("several are listed page by page, newest first, also after a deleted one", async () => {
    const person = await somebody();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1)
      ids.unshift(await registered({ ...person, authenticator: softwareAuthenticator(origin) }));
    const list = async (query: string) => {
      const { json } = await send("GET", `/v1/auth/passkeys?${query}`, { cookie: person.cookie });
      const { passkeys, next_cursor } = json;
      return [passkeys.map(({ passkey_id }: { passkey_id: string }) => passkey_id), next_cursor];
    };
    expect(await list("")).toEqual([ids, null]);
    const [first, cursor] = await list("limit=1");
    expect(first).toEqual(ids.slice(0, 1));
    expect(await list(`limit=2&cursor=${cursor}`)).toEqual([ids.slice(1), null]);
    await send("DELETE", `/v1/auth/passkeys/${ids[0]}`, { cookie: person.cookie });
    expect(await list(`cursor=${cursor}`)).toEqual([ids.slice(1), null]);
    await database.db.query("update passkeys set created_at = now() where passkey_id = any($1)", [ids.slice(1)]);
    const [[newest], after] = await list("limit=1");
    await send("DELETE", `/v1/auth/passkeys/${newest}`, { cookie: person.cookie });
    expect(await list(`cursor=${after}`)).toEqual([ids.slice(1).filter((id) => id !== newest), null]);
    for (const query of ["limit=0", "limit=201", "cursor=x"])
      expect((await send("GET", `/v1/auth/passkeys?${query}`, { cookie: person.cookie })).status).toBe(400);
  });

  test("a challenge is valid once, also on two nodes at once", async () => {
    const { cookie, authenticator } = await somebody();
    const credential = authenticator.create(await options(cookie));
    const body = { credential };
    const answers = await Promise.all(
      [0, 1].map((node) => send("POST", "/v1/auth/passkeys/registration", { cookie, body, node })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401]);
    expect((await register(cookie, credential)).code).toBe("invalid_credentials");
  });

  test("a challenge is valid for five minutes, and a newer one replaces it", async () => {
    const { cookie, authenticator } = await somebody();
    const late = await options(cookie);
    await letPass(database.db, limits.passkey_challenge_seconds);
    expect((await register(cookie, authenticator.create(late))).code).toBe("invalid_credentials");
    const replaced = await options(cookie);
    const newest = await options(cookie);
    expect((await register(cookie, authenticator.create(replaced))).code).toBe("invalid_credentials");
    expect((await register(cookie, authenticator.create(newest))).status).toBe(201);
  });

  test("of two concurrent challenges on two nodes one is valid, also if both replace an earlier one", async () => {
    const { cookie, user_id, authenticator } = await somebody();
    await options(cookie);
    const begun: object[] = [];
    const begin = (node: number) => async () => begun.push(await options(cookie, node));
    const earlier = "select from person_tokens where subject ->> 'user_id' = $1 for update";
    await meanwhile(database.db, (query) => query(earlier, [user_id]), [begin(0), begin(1)]);
    const statuses: number[] = [];
    for (const each of begun) statuses.push((await register(cookie, authenticator.create(each))).status);
    expect(statuses.sort()).toEqual([201, 401]);
  });

  test("needs a recent session or the password to begin; signing in again is enough", async () => {
    const { cookie, email, authenticator } = await somebody();
    const begin = (cookie: string, body?: object) =>
      send("POST", "/v1/auth/passkeys/registration/options", { cookie, ...(body === undefined ? {} : { body }) });
    await letPass(database.db, limits.session_fresh_seconds - 30);
    const begun = (await begin(cookie)).json.options;
    await letPass(database.db, 30);
    const refused = await begin(cookie);
    expect([refused.status, refused.code]).toEqual([403, "forbidden"]);
    expect(refused.json.error.details).toMatchObject([{ code: "session_too_old" }]);
    expect((await begin(cookie, { password: "wrong horse battery staple" })).code).toBe("invalid_credentials");
    // A registration that began in time can be finished.
    expect((await register(cookie, authenticator.create(begun))).status).toBe(201);
    expect((await begin(cookie, { password })).status).toBe(200);
    const again = await send("POST", "/v1/auth/login", { body: { email, password } });
    expect((await begin(again.cookie as string)).status).toBe(200);
  });

  test("a challenge is for one session and one use: those of others and of logins are not valid", async () => {
    const [mine, other] = [await somebody(), await somebody()];
    const stolen = mine.authenticator.create(await options(mine.cookie));
    expect((await register(other.cookie, stolen)).code).toBe("invalid_credentials");
    const forLogin = { ...(await options(mine.cookie)), challenge: (await loginOptions()).challenge };
    expect((await register(mine.cookie, mine.authenticator.create(forLogin))).code).toBe("invalid_credentials");
  });

  test.each<[string, Lies]>([
    ["on another page", { origin: "https://evil.example" }],
    ["without looking at its user", { user_verified: false }],
    ["with a name too long to be deleted by", { credential_id: randomBytes(1_051).toString("base64url") }],
  ])("made %s: 401", async (_, lies) => {
    const { cookie, authenticator } = await somebody();
    const answer = await register(cookie, authenticator.create(await options(cookie), lies));
    expect([answer.status, answer.code]).toEqual([401, "invalid_credentials"]);
  });

  test("the same passkey again, by any person: 409", async () => {
    const [mine, other] = [await somebody(), await somebody()];
    const id = await registered(mine);
    const again = other.authenticator.create(await options(other.cookie), { credential_id: id });
    expect((await register(other.cookie, again)).code).toBe("already_exists");
  });

  test("a person has a maximum of passkeys", async () => {
    const { cookie, authenticator, org_id, user_id } = await somebody();
    await database.db.system(async (query) => {
      for (let n = 1; n < limits.passkeys_per_person_max; n++)
        await query(
          `insert into passkeys (org_id, passkey_id, user_id, name, public_key, counter, transports, created_at)
           values ($1, $2, $3, 'x', '\\x00', 0, '[]', now())`,
          [org_id, `${user_id}-${n}`, user_id],
        );
    });
    expect((await register(cookie, authenticator.create(await options(cookie)))).status).toBe(201);
    const answer = await register(cookie, authenticator.create(await options(cookie)));
    expect([answer.status, answer.code]).toEqual([409, "already_exists"]);
  });

  test("a session that ended while its passkey waited registers none", async () => {
    const person = await somebody();
    const { cookie, org_id } = person;
    const credential = person.authenticator.create(await options(cookie));
    const answers: { status: number }[] = [];
    await database.db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org_id]);
      const waits =
        "select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()";
      const waiting = async () => (await database.db.query(waits)).length;
      const queued = async (count: number) => expect.poll(waiting).toBeGreaterThanOrEqual(count);
      void send("DELETE", "/v1/auth/sessions", { cookie }).then((answer) => answers.push(answer));
      await queued(1);
      void register(cookie, credential).then((answer) => answers.push(answer));
      await queued(2);
    });
    await expect.poll(() => answers.length).toBe(2);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401]);
    expect(await database.db.query("select from passkeys where org_id = $1", [org_id])).toEqual([]);
  });

  test("keys may not: 403", async () => {
    const org = await testOrganization(database.db);
    const { api_key } = await org.key();
    for (const [method, path, body] of [
      ["POST", "/v1/auth/passkeys/registration/options"],
      ["POST", "/v1/auth/passkeys/registration", { credential: {} }],
      ["GET", "/v1/auth/passkeys"],
      ["DELETE", "/v1/auth/passkeys/x"],
    ] as const) {
      const { code, json } = await send(method, path, { headers: { "X-API-Key": api_key }, body });
      expect([code, json.error.details[0].message], path).toEqual([
        "forbidden",
        "Only signed-in people may call this operation; no API key may, whatever its role.",
      ]);
    }
  });
});

describe("login", () => {
  test("begins a session with all rights, without the second factor", async () => {
    const person = await somebody();
    await registered(person);
    await database.db.system((query) =>
      query("update people set totp_sealed = 'x', totp_confirmed_at = now() where org_id = $1", [person.org_id]),
    );
    const answer = await logIn(person.authenticator.get(await loginOptions()), 1);
    expect(answer.status).toBe(200);
    expect(answer.json.session).toMatchObject({ mfa_required: false, user: { user_id: person.user_id } });
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-countersign_session=\w+; .*Secure; HttpOnly; SameSite=Lax$/,
    );
    const cookie = answer.cookie as string;
    expect((await send("GET", "/v1/me", { cookie })).json.caller.id).toBe(person.user_id);
    const { passkeys } = (await send("GET", "/v1/auth/passkeys", { cookie })).json;
    expect(passkeys[0].last_used_at).not.toBeNull();
  });

  test("an answer is valid once, also on two nodes at once", async () => {
    const person = await somebody();
    await registered(person);
    const credential = person.authenticator.get(await loginOptions());
    const answers = await Promise.all([0, 1].map((node) => logIn(credential, node)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect((await logIn(credential)).code).toBe("invalid_credentials");
  });

  test("two answers with one count on two nodes: one of them is from a copy, and one succeeds", async () => {
    const person = await somebody();
    await registered(person);
    const [first, second] = [await loginOptions(), await loginOptions()];
    const credentials = [first, second].map((each) => person.authenticator.get(each, { counter: 7 }));
    const answers = await Promise.all(credentials.map((credential, node) => logIn(credential, node)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  test("an authenticator that does not count can sign in repeatedly", async () => {
    const person = await somebody();
    await registered(person, { counter: 0 });
    for (let n = 0; n < 2; n++) {
      const credential = person.authenticator.get(await loginOptions(), { counter: 0 });
      expect((await logIn(credential)).status).toBe(200);
    }
  });

  test.each<[string, Lies]>([
    ["on another page", { origin: "https://evil.example" }],
    ["without looking at its user", { user_verified: false }],
    ["for another person", { user_handle: Buffer.from("usr_00000000000000000000000000").toString("base64url") }],
    ["with a challenge that nobody set", { challenge: Buffer.from("x".repeat(43)).toString("base64url") }],
    ["with a count that did not grow", { counter: 1 }],
  ])("answered %s: 401", async (_, lies) => {
    const person = await somebody();
    await registered(person);
    const answer = await logIn(person.authenticator.get(await loginOptions(), lies));
    expect([answer.status, answer.code, answer.cookie]).toEqual([401, "invalid_credentials", undefined]);
  });

  test("with an unknown passkey, the challenge of a registration, or no credential at all: the same 401", async () => {
    const [mine, unknown] = [await somebody(), await somebody()];
    await registered(mine);
    unknown.authenticator.create(await options(unknown.cookie));
    const { challenge } = await options(mine.cookie);
    const answers = [
      await logIn(unknown.authenticator.get(await loginOptions())),
      await logIn(mine.authenticator.get({ ...(await loginOptions()), challenge })),
      await logIn({}),
      await logIn({ id: 1, response: { clientDataJSON: "!!" } }),
    ];
    for (const answer of answers) answer.json.error.request_id = "";
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(1);
  });

  test("ends with the passkey and with its person", async () => {
    const person = await somebody();
    const id = await registered(person);
    const { cookie } = person;
    expect((await send("DELETE", `/v1/auth/passkeys/${id}`, { cookie })).status).toBe(204);
    expect((await send("DELETE", `/v1/auth/passkeys/${id}`, { cookie })).code).toBe("not_found");
    expect((await logIn(person.authenticator.get(await loginOptions()))).code).toBe("invalid_credentials");
    expect(await auditTypes(cookie)).toContain("passkey_deleted");
    const told = () =>
      mails.filter(({ to, text }) => to === person.email && text.startsWith("A passkey of your account"));
    await expect.poll(() => told().length).toBe(1);

    const colleague = await somebody();
    await registered(colleague);
    const { api_key } = await colleague.org.key();
    const headers = { "X-API-Key": api_key };
    await database.db.system((query) =>
      query("update people set role = 'reviewer' where user_id = $1", [colleague.user_id]),
    );
    expect((await send("DELETE", `/v1/people/${colleague.user_id}`, { headers })).status).toBe(204);
    expect((await logIn(colleague.authenticator.get(await loginOptions()))).code).toBe("invalid_credentials");
    const left = await database.db.query("select from passkey_index where user_id = $1", [colleague.user_id]);
    expect(left).toEqual([]);
  });

  test("does not wait for an organization's deletion of it", async () => {
    const person = await somebody();
    const id = await registered(person);
    const held = "select from org_heads where org_id = $1 for update";
    await meanwhile(database.db, (query) => query(held, [person.org_id]), [
      () => send("DELETE", `/v1/auth/passkeys/${id}`, { cookie: person.cookie }),
      () => database.db.query("select from passkeys where passkey_id = $1 for update nowait", [id]),
    ]);
  });

  test("one with the longest possible identifier is used and deleted like any other", async () => {
    const person = await somebody();
    const id = await registered(person, { credential_id: randomBytes(1_023).toString("base64url") });
    expect((await logIn(person.authenticator.get(await loginOptions()))).status).toBe(200);
    expect((await send("DELETE", `/v1/auth/passkeys/${id}`, { cookie: person.cookie })).status).toBe(204);
  });

  test("passkeys of another site are not valid", async () => {
    const person = await somebody();
    await registered(person);
    const elsewhere = { ...(await loginOptions()), rpId: "evil.example" };
    expect((await logIn(person.authenticator.get(elsewhere))).code).toBe("invalid_credentials");
  });

  test("a person cannot delete another's passkey", async () => {
    const [mine, other] = [await somebody(), await somebody()];
    const id = await registered(mine);
    expect((await send("DELETE", `/v1/auth/passkeys/${id}`, { cookie: other.cookie })).code).toBe("not_found");
    expect((await logIn(mine.authenticator.get(await loginOptions()))).status).toBe(200);
  });

  test("comes from the service's own pages: 403 from others", async () => {
    const headers = { origin: "https://evil.example" };
    const body = { credential: {} };
    expect((await send("POST", "/v1/auth/passkeys/login", { headers, body })).code).toBe("forbidden");
    expect((await send("POST", "/v1/auth/passkeys/login/options", { headers })).code).toBe("forbidden");
  });
});

test("on a loopback address passkeys are for localhost: 409 if the page was opened by its number", async () => {
  const { url } = await serviceNode(database);
  const { port } = new URL(url);
  const path = "/v1/auth/passkeys/login/options";
  const numbered = await call(url, "POST", path);
  expect([numbered.status, numbered.json.error.code]).toEqual([409, "state_conflict"]);
  expect(numbered.json.error.details[0].message).toContain(`http://localhost:${port}`);
  const named = await call(`http://localhost:${port}`, "POST", path);
  expect(named.json.options.rpId).toBe("localhost");
});
