import { limits } from "@countersign/contract";
import { Secret, TOTP } from "otpauth";
import { beforeAll, describe, expect, test } from "vitest";
import { insertPasskey } from "../../src/store/people/passkeys.ts";
import { deleteSessions } from "../../src/store/people/sessions.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

describe("second factor", () => {
  /** Uses the next code by default, because the current one may expire on the way. */
  const codeAt = (secret: string, shift_seconds = 30) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({
      timestamp: Date.now() + shift_seconds * 1000,
    });

  async function enrolled() {
    const person = await nodes.signedUp();
    const { secret, uri } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie: person.cookie })).json;
    expect(uri).toMatch(/^otpauth:\/\/totp\/Countersign:/);
    const second = await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } });
    const confirmed = await nodes.send("POST", "/v1/auth/totp/confirm", {
      cookie: person.cookie,
      body: { code: codeAt(secret, 0) },
    });
    expect(confirmed.status).toBe(200);
    return {
      ...person,
      before: person.cookie,
      cookie: confirmed.cookie as string,
      set: confirmed.set,
      secret,
      codes: confirmed.json.recovery_codes as string[],
      second: second.cookie as string,
    };
  }
  const logIn = async (email: string, base = nodes.url) => {
    const answer = await nodes.send("POST", "/v1/auth/login", { body: { email, password } }, base);
    expect(answer.json.session).toMatchObject({ user: null, mfa_required: true });
    return answer.cookie as string;
  };

  test("login asks for it; until then the session may do nothing; afterwards a new session begins", async () => {
    const { email, secret, second, cookie } = await enrolled();
    expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
    expect((await nodes.send("GET", "/v1/me", { cookie: second })).status).toBe(401);
    const waiting = await logIn(email);
    expect((await nodes.send("GET", "/v1/me", { cookie: waiting })).code).toBe("missing_api_key");
    expect((await nodes.send("GET", "/v1/auth/session", { cookie: waiting })).json.session.mfa_required).toBe(true);
    const full = await nodes.send("POST", "/v1/auth/mfa/verify", { cookie: waiting, body: { code: codeAt(secret) } });
    expect(full.json.session).toMatchObject({ mfa_required: false, user: { mfa_enabled: true } });
    expect(full.cookie).not.toBe(waiting);
    expect((await nodes.send("GET", "/v1/me", { cookie: full.cookie as string })).status).toBe(200);
    expect((await nodes.send("GET", "/v1/auth/session", { cookie: waiting })).status).toBe(401);
    const again = await nodes.send("POST", "/v1/auth/mfa/verify", {
      cookie: full.cookie as string,
      body: { code: "123456" },
    });
    expect(again.code).toBe("state_conflict");
  });

  test("switching it on begins a new session here; every earlier session text is void on every node", async () => {
    const { before, second, cookie, set, session } = await enrolled();
    expect(set).toMatch(/^countersign_session=\w{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(cookie).not.toBe(before);
    for (const base of [nodes.url, nodes.other]) {
      for (const old of [before, second])
        expect((await nodes.send("GET", "/v1/me", { cookie: old }, base)).code).toBe("missing_api_key");
      expect((await nodes.send("GET", "/v1/me", { cookie }, base)).json.caller.id).toBe(session.user.user_id);
    }
    const open = (await nodes.send("GET", "/v1/auth/sessions", { cookie })).json.sessions;
    expect(open).toMatchObject([{ current: true }]);
    expect(open[0].session_id).not.toBe(session.session_id);
  });

  test("a code is accepted in two groups, as authenticators show it, and works once however it is written", async () => {
    const { email, secret } = await enrolled();
    const code = codeAt(secret);
    const verify = async (text: string) =>
      nodes.send("POST", "/v1/auth/mfa/verify", { cookie: await logIn(email), body: { code: text } });
    expect((await verify(`${code.slice(0, 3)} ${code.slice(3)}`)).status).toBe(200);
    expect((await verify(code)).code).toBe("invalid_credentials");
  });

  test("requests that need a second factor, or none, say so", async () => {
    const { cookie } = await nodes.signedUp();
    const told = async (path: string, cookie: string) => {
      const answer = await nodes.send("POST", `/v1/auth/${path}`, { cookie, body: { code: "123456" } });
      expect([answer.status, answer.code]).toEqual([409, "state_conflict"]);
      return answer.json.error.details[0].message;
    };
    expect(await told("mfa/verify", cookie)).toBe("This session does not wait for a second factor.");
    expect(await told("totp/confirm", cookie)).toMatch(/^Begin with POST \/v1\/auth\/totp\/enrol/);
    for (const path of ["totp/disable", "recovery-codes"])
      expect(await told(path, cookie)).toBe("The second factor is off.");
    const on = /^The second factor is on/;
    const full = (await enrolled()).cookie;
    expect(await told("totp/confirm", full)).toMatch(on);
    const enrol = await nodes.send("POST", "/v1/auth/totp/enrol", { cookie: full });
    expect(enrol.json.error.details[0].message).toMatch(on);
  });

  test("a code works once, even on two nodes at once", async () => {
    const { email, secret } = await enrolled();
    const cookies = await Promise.all([
      logIn(email),
      logIn(email, nodes.other),
      logIn(email),
      logIn(email, nodes.other),
    ]);
    const code = codeAt(secret);
    const answers = await Promise.all(
      cookies.map((cookie, n) =>
        nodes.send("POST", "/v1/auth/mfa/verify", { cookie, body: { code } }, n % 2 ? nodes.other : nodes.url),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
    // The confirming code is older than the newest used one, so it is void.
    const cookie = await logIn(email);
    const old = await nodes.send("POST", "/v1/auth/mfa/verify", { cookie, body: { code: codeAt(secret, 0) } });
    expect(old.code).toBe("invalid_credentials");
  });

  test("five wrong codes end the login", async () => {
    const { email, secret } = await enrolled();
    const cookie = await logIn(email);
    const wrong = codeAt(secret, 3_600);
    for (let n = 0; n < limits.session_mfa_failures_max; n += 1)
      expect((await nodes.send("POST", "/v1/auth/mfa/verify", { cookie, body: { code: wrong } })).code).toBe(
        "invalid_credentials",
      );
    const right = { cookie, body: { code: codeAt(secret) } };
    expect((await nodes.send("POST", "/v1/auth/mfa/verify", right)).code).toBe("missing_api_key");
  });

  test("after fifteen wrong codes over any logins, only recovery codes are accepted until the last login ends", async () => {
    const { email, secret, codes } = await enrolled();
    const wrong = codeAt(secret, 3_600);
    const verify = (cookie: string, code: string) =>
      nodes.send("POST", "/v1/auth/mfa/verify", { cookie, body: { code } });
    for (let n = 0; n < limits.person_mfa_failures_max; n += 1) {
      const base = n % 2 ? nodes.other : nodes.url;
      const cookie = await logIn(email, base);
      expect((await verify(cookie, wrong)).code).toBe("invalid_credentials");
      // Logging out must not reset the count of failed attempts.
      expect((await nodes.send("POST", "/v1/auth/logout", { cookie }, base)).status).toBe(204);
      expect((await nodes.send("GET", "/v1/auth/session", { cookie })).status).toBe(401);
    }
    const refused = await verify(await logIn(email), codeAt(secret));
    expect([refused.status, refused.code]).toEqual([429, "rate_limit_exceeded"]);
    const wait = Number(refused.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(limits.session_mfa_seconds - 120);
    expect(wait).toBeLessThanOrEqual(limits.session_mfa_seconds);
    expect((await verify(await logIn(email), codes[0] as string)).status).toBe(200);
    await nodes.advance(wait);
    expect((await verify(await logIn(email), codeAt(secret))).status).toBe(200);
  });

  test("neither a new password nor ending the login resets the count of attempts", async () => {
    const { email, cookie, secret } = await enrolled();
    const wrong = codeAt(secret, 3_600);
    const verify = (cookie: string, code: string) =>
      nodes.send("POST", "/v1/auth/mfa/verify", { cookie, body: { code } });
    for (let n = 0; n < limits.person_mfa_failures_max; n += 1) {
      const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
      expect((await verify(login.cookie as string, wrong)).code).toBe("invalid_credentials");
      const path = `/v1/auth/sessions/${login.json.session.session_id}`;
      if (n % 2) expect((await nodes.send("DELETE", path, { cookie })).status).toBe(204);
    }
    expect((await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } })).status).toBe(202);
    const token = await nodes.mailed(email, /^Set a new/);
    const reset = { token, password: "a new password" };
    expect((await nodes.send("POST", "/v1/auth/password/reset", { body: reset })).status).toBe(204);
    const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password: reset.password } });
    expect((await verify(login.cookie as string, codeAt(secret))).code).toBe("rate_limit_exceeded");
  });

  test.each(["/v1/auth/totp/disable", "/v1/auth/recovery-codes"])(
    "%s: five wrong codes end the session, even concurrently from many addresses",
    async (path) => {
      const { email, cookie, secret, codes } = await enrolled();
      const login = await logIn(email);
      const elsewhere = await nodes.send("POST", "/v1/auth/mfa/verify", { cookie: login, body: { code: codes[0] } });
      const guess = (n: number) =>
        nodes.send("POST", path, { cookie, body: { code: codeAt(secret, 3_600) } }, n % 2 ? nodes.other : nodes.url);
      for (let n = 1; n < limits.session_mfa_failures_max; n += 1)
        expect((await guess(n)).code).toBe("invalid_credentials");
      expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
      const guesses = await Promise.all([0, 1, 2, 3, 4, 5].map(guess));
      const told = guesses.map(({ code }) => code).sort();
      expect(told).toEqual(["invalid_credentials", ...Array.from({ length: 5 }, () => "missing_api_key")]);
      const right = await nodes.send("POST", path, { cookie, body: { code: codes[1] } });
      expect(right.code).toBe("missing_api_key");
      // Other people's and the person's other sessions are unaffected.
      const other = elsewhere.cookie as string;
      expect((await nodes.send("GET", "/v1/auth/session", { cookie: other })).json.session.user.mfa_enabled).toBe(true);
    },
  );

  test("a recovery code signs in once; new codes void the old ones", async () => {
    const { email, codes } = await enrolled();
    expect(new Set(codes).size).toBe(limits.recovery_codes);
    const [first, second, third] = codes as [string, string, string];
    const verify = async (code: string) =>
      nodes.send("POST", "/v1/auth/mfa/verify", { cookie: await logIn(email), body: { code } });
    const full = await verify(first.replace("-", " "));
    expect(full.status).toBe(200);
    expect((await verify(first)).code).toBe("invalid_credentials");
    const replaced = await nodes.send("POST", "/v1/auth/recovery-codes", {
      cookie: full.cookie as string,
      body: { code: second },
    });
    expect(replaced.json.recovery_codes).toHaveLength(limits.recovery_codes);
    expect((await verify(third)).code).toBe("invalid_credentials");
    expect((await verify(replaced.json.recovery_codes[0])).status).toBe(200);
  });

  test("a recovery code works once, even on two nodes at once", async () => {
    const { email, codes } = await enrolled();
    const cookies = await Promise.all([logIn(email), logIn(email, nodes.other), logIn(email)]);
    const answers = await Promise.all(
      cookies.map((cookie, n) =>
        nodes.send(
          "POST",
          "/v1/auth/mfa/verify",
          { cookie, body: { code: codes[0] } },
          n % 2 ? nodes.other : nodes.url,
        ),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  test("switching it off needs a code; its seed is sealed in the database and never in the log", async () => {
    const { email, cookie, codes, secret } = await enrolled();
    const rows = JSON.stringify(await database.db.query("select * from people"));
    for (const text of [secret, ...codes, password]) expect(rows).not.toContain(text);
    expect((await nodes.send("POST", "/v1/auth/totp/enrol", { cookie })).code).toBe("state_conflict");
    expect((await nodes.send("POST", "/v1/auth/totp/disable", { cookie, body: { code: "000000" } })).code).toBe(
      "invalid_credentials",
    );
    expect((await nodes.send("POST", "/v1/auth/totp/disable", { cookie, body: { code: codes[0] } })).status).toBe(204);
    const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
    expect(login.json.session.mfa_required).toBe(false);
  });
});

test("an authenticator needs a recent session or the password, on every node; signing in again suffices", async () => {
  const { email, cookie } = await nodes.signedUp();
  const begin = (cookie: string, base: string) => nodes.send("POST", "/v1/auth/totp/enrol", { cookie }, base);
  await nodes.advance(limits.session_fresh_seconds - 30);
  for (const base of [nodes.url, nodes.other]) expect((await begin(cookie, base)).status).toBe(200);
  await nodes.advance(30);
  for (const base of [nodes.url, nodes.other]) {
    const refused = await begin(cookie, base);
    expect([refused.status, refused.code]).toEqual([403, "forbidden"]);
    const message =
      "Give your password, or sign in again: a new way to sign in is added within 15 minutes of signing in.";
    expect(refused.json.error.details).toEqual([{ path: "", code: "session_too_old", message }]);
  }
  expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
  const proven = (body: object) => nodes.send("POST", "/v1/auth/totp/enrol", { cookie, body });
  expect((await proven({ password })).status).toBe(200);
  const again = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
  expect((await begin(again.cookie as string, nodes.url)).status).toBe(200);
  for (let turn = 0; turn < limits.session_mfa_failures_max; turn++)
    expect((await proven({ password: "wrong horse battery staple" })).code).toBe("invalid_credentials");
  expect((await proven({ password })).code).toBe("missing_api_key");
});

describe("a session that ends while it is being replaced", () => {
  type Session = Awaited<ReturnType<typeof nodes.signedUp>>["session"];

  /** Sends a request that waits for its person's row, and ends the session meanwhile. */
  async function endedMeanwhile(cookie: string, session: Session, path: string, body: object) {
    let answer: ReturnType<typeof nodes.send> | undefined;
    await database.db.system(async (query) => {
      await query("select from people where user_id = $1 for update", [session.user.user_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      answer = nodes.send("POST", path, { cookie, body });
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await database.db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      // Writes the same rows as an HTTP request that ends the session.
      expect(await deleteSessions(query, session.org_id, session.user.user_id)).toBe(1);
    });
    return answer as ReturnType<typeof nodes.send>;
  }

  test("is not replaced, and neither a second factor nor a new password is set", async () => {
    const person = await nodes.signedUp();
    const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie: person.cookie })).json;
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({
      timestamp: Date.now(),
    });
    const confirm = await endedMeanwhile(person.cookie, person.session, "/v1/auth/totp/confirm", { code });
    expect([confirm.status, confirm.code, confirm.set]).toEqual([401, "missing_api_key", null]);
    const again = await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } });
    expect(again.json.session.mfa_required).toBe(false);
    const changed = await endedMeanwhile(again.cookie as string, again.json.session, "/v1/auth/password", {
      current_password: password,
      password: "yet another one",
    });
    expect([changed.status, changed.code, changed.set]).toEqual([401, "missing_api_key", null]);
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email: person.email, password } })).status).toBe(200);
  });
});

test.each([
  ["switches its second factor off", "POST", "/v1/auth/totp/disable"],
  ["gets its recovery codes", "POST", "/v1/auth/recovery-codes"],
  ["deletes its passkeys", "DELETE", "/v1/auth/passkeys/"],
])("a session that ended while its request waited no longer %s", async (_, method, path) => {
  const { cookie, session } = await nodes.signedUp();
  const { org_id, user } = session;
  await database.db.system(async (query) => {
    await query("update people set totp_sealed = 'x', totp_confirmed_at = now() where user_id = $1", [user.user_id]);
    const code = "insert into recovery_codes (org_id, user_id, code_sha256) values ($1, $2, sha256('abcdeabcde'))";
    await query(code, [org_id, user.user_id]);
    const passkey = { public_key: Buffer.from("x"), counter: 0, transports: [], created_at: new Date().toISOString() };
    const named = { org_id, user_id: user.user_id, passkey_id: user.user_id, name: "Theirs" };
    await insertPasskey(query, { ...named, ...passkey });
  });
  let answer: Awaited<ReturnType<typeof nodes.send>> | undefined;
  await meanwhile(database.db, (query) => query("select from org_heads where org_id = $1 for update", [org_id]), [
    () => nodes.send("DELETE", "/v1/auth/sessions", { cookie }),
    async () => {
      const body = method === "POST" ? { body: { code: "abcde-abcde" } } : {};
      const whole = method === "POST" ? path : path + user.user_id;
      answer = await nodes.send(method, whole, { cookie, ...body }, nodes.other);
    },
  ]);
  expect([answer?.status, answer?.code]).toEqual([401, "missing_api_key"]);
  const [last] = await database.db.query("select type from audit where org_id = $1 order by seq desc limit 1", [
    org_id,
  ]);
  expect(last).toEqual({ type: "sessions_ended" });
});

describe("passwords", () => {
  test("a mailed link sets a new one, once, and ends every session", async () => {
    const { email, cookie } = await nodes.signedUp();
    expect((await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } })).status).toBe(202);
    const token = await nodes.mailed(email, /^Set a new/);
    const body = { token, password: "a new password" };
    expect((await nodes.send("POST", "/v1/auth/password/reset", { body })).status).toBe(204);
    expect((await nodes.send("POST", "/v1/auth/password/reset", { body })).code).toBe("not_found");
    expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(401);
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email, password } })).status).toBe(401);
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email, password: body.password } })).status).toBe(200);
  });

  test("an unknown address answers the same and gets nothing", async () => {
    const [known, unknown] = [(await nodes.signedUp()).email, nodes.newAddress()];
    const answers = [];
    for (const email of [unknown, known])
      answers.push(await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } }));
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [202, ""],
      [202, ""],
    ]);
    await nodes.mailed(known, /^Set a new/);
    expect(nodes.count(unknown)).toBe(0);
  });

  test("five wrong old passwords end that session only", async () => {
    const { email, cookie } = await nodes.signedUp();
    const second = (await nodes.send("POST", "/v1/auth/login", { body: { email, password } })).cookie as string;
    const change = async (current_password: string) => {
      const body = { current_password, password: "yet another one" };
      return (await nodes.send("POST", "/v1/auth/password", { cookie, body })).code;
    };
    for (let n = 0; n < limits.session_mfa_failures_max; n += 1)
      expect(await change("wrong")).toBe("invalid_credentials");
    expect(await change(password)).toBe("missing_api_key");
    expect((await nodes.send("GET", "/v1/me", { cookie: second })).status).toBe(200);
  });

  test("changing it with the old password continues this session under a new text and ends the others", async () => {
    const { email, cookie } = await nodes.signedUp();
    const second = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
    const change = (current_password: string) =>
      nodes.send("POST", "/v1/auth/password", { cookie, body: { current_password, password: "yet another one" } });
    expect((await change("wrong")).code).toBe("invalid_credentials");
    const changed = await change(password);
    expect(changed.status).toBe(200);
    for (const old of [cookie, second.cookie as string])
      expect((await nodes.send("GET", "/v1/me", { cookie: old })).status).toBe(401);
    expect((await nodes.send("GET", "/v1/me", { cookie: changed.cookie as string })).status).toBe(200);
  });
});
