import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

describe("signup", () => {
  test("a link, then an organization whose admin can do everything with the cookie", async () => {
    const { cookie, session, email } = await nodes.signedUp();
    expect(session).toMatchObject({ mfa_required: false, user: { email, role: "admin", mfa_enabled: false } });
    const me = await nodes.send("GET", "/v1/me", { cookie });
    expect(me.json.caller).toMatchObject({ type: "user", id: session.user.user_id, org_name: "Acme", role: "admin" });
    expect((await nodes.send("GET", "/v1/membranes", { cookie })).json.membranes).toMatchObject([{ status: "shadow" }]);
    const key = await nodes.send("POST", "/v1/api-keys", { cookie, body: {} });
    expect(key.status).toBe(201);
    expect((await nodes.send("GET", "/v1/auth/session", { cookie })).json.session.session_id).toBe(session.session_id);
  });

  test("a link works once, for a day", async () => {
    const { token } = await nodes.signedUp();
    expect((await nodes.send("POST", "/v1/auth/verify-email", { body: { token, password } })).code).toBe("not_found");
    const email = nodes.newAddress();
    await nodes.send("POST", "/v1/auth/signup", { body: { org_name: "Late", email, password } });
    const late = await nodes.mailed(email, /^Confirm/);
    await nodes.advance(limits.signup_link_seconds);
    expect((await nodes.send("POST", "/v1/auth/verify-email", { body: { token: late, password } })).code).toBe(
      "not_found",
    );
  });

  test("an address with an account gets the same answer as any other; its owner gets a mail", async () => {
    const { email } = await nodes.signedUp();
    const again = { org_name: "Evil", email: email.toUpperCase(), password: "another password" };
    const answer = await nodes.send("POST", "/v1/auth/signup", { body: again });
    expect([answer.status, answer.text]).toEqual([202, ""]);
    await expect.poll(() => nodes.mails.some((mail) => mail.subject === "You have an account already")).toBe(true);
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email, password: "another password" } })).code).toBe(
      "invalid_credentials",
    );
  });

  test("two signups of one address: the first used link wins", async () => {
    const email = nodes.newAddress();
    for (const org_name of ["One", "Two"])
      await nodes.send("POST", "/v1/auth/signup", { body: { org_name, email, password } });
    await expect.poll(() => nodes.count(email)).toBe(2);
    const tokens = nodes.mails
      .filter((mail) => mail.to === email)
      .map((mail) => decodeURIComponent(/\?token=([\w%.-]+)/.exec(mail.text)?.[1] ?? ""));
    const answers = await Promise.all(
      tokens.map((token, n) =>
        nodes.send("POST", "/v1/auth/verify-email", { body: { token, password } }, n === 0 ? nodes.url : nodes.other),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
  });

  test("closed: 403 for signup, before its body is looked at", async () => {
    const node = await serviceNode(database, { ...nodes.parts, config: { signup: "closed" } });
    const body = { org_name: "Acme", email: nodes.newAddress(), password };
    for (const sent of [body, {}])
      expect((await nodes.send("POST", "/v1/auth/signup", { body: sent }, node.url)).code).toBe("signup_closed");
  });

  test("closed: 403 for the link of an earlier signup, which works when signup is open again", async () => {
    const node = await serviceNode(database, { ...nodes.parts, config: { signup: "closed" } });
    const email = nodes.newAddress();
    await nodes.send("POST", "/v1/auth/signup", { body: { org_name: "Acme", email, password } });
    const body = { token: await nodes.mailed(email, /^Confirm/), password };
    expect((await nodes.send("POST", "/v1/auth/verify-email", { body }, node.url)).code).toBe("signup_closed");
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email, password } })).status).toBe(401);
    expect((await nodes.send("POST", "/v1/auth/verify-email", { body })).status).toBe(204);
  });

  test.each([
    [limits.password_chars_min - 1, 400],
    [limits.password_chars_min, 202],
    [limits.password_chars_max, 202],
    [limits.password_chars_max + 1, 400],
  ])("a password of %i characters: %i", async (length, status) => {
    const body = { org_name: "Acme", email: nodes.newAddress(), password: "x".repeat(length) };
    expect((await nodes.send("POST", "/v1/auth/signup", { body })).status).toBe(status);
  });
});

describe("login", () => {
  test("unknown address and wrong password answer alike", async () => {
    const { email } = await nodes.signedUp();
    const wrong = await nodes.send("POST", "/v1/auth/login", { body: { email, password: "wrong" } });
    const unknown = await nodes.send("POST", "/v1/auth/login", {
      body: { email: nodes.newAddress(), password: "wrong" },
    });
    for (const answer of [wrong, unknown]) {
      expect([answer.status, answer.code, answer.set]).toEqual([401, "invalid_credentials", null]);
      answer.json.error.request_id = "";
    }
    expect(wrong.json).toEqual(unknown.json);
  });

  test("the cookie is HttpOnly and SameSite; over https it is bound to the host and to encryption", async () => {
    const { email } = await nodes.signedUp();
    const plain = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
    expect(plain.set).toMatch(/^countersign_session=\w{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    const node = await serviceNode(database, { ...nodes.parts, config: { public_url: "https://countersign.example" } });
    const secure = await nodes.send("POST", "/v1/auth/login", { body: { email, password } }, node.url);
    expect(secure.set).toMatch(
      /^__Host-countersign_session=\w{43}; Max-Age=604800; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
    );
    expect((await nodes.send("GET", "/v1/me", { cookie: secure.cookie as string }, node.url)).status).toBe(200);
    expect((await nodes.send("GET", "/v1/me", { cookie: plain.cookie as string }, node.url)).status).toBe(401);
  });

  test("five a minute from one address, whatever the rate category of the key", async () => {
    const node = await serviceNode(database, { ...nodes.parts, config: { rate_limits: {} } });
    const body = { email: nodes.newAddress(), password: "wrong" };
    const statuses: number[] = [];
    for (let n = 0; n < 6; n += 1)
      statuses.push((await nodes.send("POST", "/v1/auth/login", { body }, node.url)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test("a session ends after a day without use, and after a week in any case", async () => {
    const { cookie } = await nodes.signedUp();
    await nodes.advance(limits.session_idle_seconds - 10);
    expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
    await nodes.advance(limits.session_idle_seconds - 10);
    expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
    await nodes.advance(limits.session_idle_seconds + 10);
    expect((await nodes.send("GET", "/v1/me", { cookie })).code).toBe("missing_api_key");

    const kept = await nodes.signedUp();
    for (let day = 0; day < 8; day += 1) {
      const { status } = await nodes.send("GET", "/v1/me", { cookie: kept.cookie });
      expect(status, `day ${day}`).toBe(day * 0.9 < 7 ? 200 : 401);
      await nodes.advance(limits.session_idle_seconds * 0.9);
    }
    expect((await nodes.send("GET", "/v1/me", { cookie: kept.cookie })).status).toBe(401);
  });
});

describe("sessions", () => {
  test("logout ends it on every node and takes the cookie away", async () => {
    const { cookie } = await nodes.signedUp();
    const out = await nodes.send("POST", "/v1/auth/logout", { cookie });
    expect([out.status, out.set]).toEqual([204, "countersign_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"]);
    for (const base of [nodes.url, nodes.other])
      expect((await nodes.send("GET", "/v1/me", { cookie }, base)).status).toBe(401);
    expect((await nodes.send("GET", "/v1/auth/session", { cookie })).code).toBe("missing_api_key");
    expect((await nodes.send("POST", "/v1/auth/logout")).status).toBe(204);
  });

  test("are listed, and ended one by one or all at once; other people's are not", async () => {
    const person = await nodes.signedUp();
    const stranger = await nodes.signedUp();
    const again = await nodes.send("POST", "/v1/auth/login", {
      body: { email: person.email, password },
      headers: { "user-agent": "Second" },
    });
    const list = await nodes.send("GET", "/v1/auth/sessions", { cookie: person.cookie });
    expect(list.json.sessions).toMatchObject([
      { session_id: again.json.session.session_id, current: false, user_agent: "Second", client_ip: "127.0.0.1" },
      { session_id: person.session.session_id, current: true },
    ]);
    const paged = (query: string) => nodes.send("GET", `/v1/auth/sessions?${query}`, { cookie: person.cookie });
    const { sessions, next_cursor } = (await paged("limit=1")).json;
    expect(sessions).toEqual(list.json.sessions.slice(0, 1));
    expect((await paged(`limit=1&cursor=${next_cursor}`)).json).toEqual({
      sessions: list.json.sessions.slice(1),
      next_cursor: null,
    });
    for (const query of ["limit=0", "limit=201", "cursor=x"]) expect((await paged(query)).status).toBe(400);
    const foreign = `/v1/auth/sessions/${stranger.session.session_id}`;
    expect((await nodes.send("DELETE", foreign, { cookie: person.cookie })).status).toBe(404);
    const one = `/v1/auth/sessions/${again.json.session.session_id}`;
    expect((await nodes.send("DELETE", one, { cookie: person.cookie })).status).toBe(204);
    expect((await nodes.send("GET", "/v1/me", { cookie: again.cookie as string })).status).toBe(401);
    expect((await nodes.send("DELETE", "/v1/auth/sessions", { cookie: person.cookie })).status).toBe(204);
    expect((await nodes.send("GET", "/v1/me", { cookie: person.cookie })).status).toBe(401);
    expect((await nodes.send("GET", "/v1/me", { cookie: stranger.cookie })).status).toBe(200);
  });

  test("a session ended by a password change cannot end newer sessions", async () => {
    const { cookie, session } = await nodes.signedUp();
    const body = { current_password: password, password: "a new password" };
    const answers: Awaited<ReturnType<typeof nodes.send>>[] = [];
    const hold = "select from org_heads where org_id = $1 for update";
    await meanwhile(database.db, (query) => query(hold, [session.org_id]), [
      async () => answers.unshift(await nodes.send("POST", "/v1/auth/password", { cookie, body })),
      async () => answers.push(await nodes.send("DELETE", "/v1/auth/sessions", { cookie }, nodes.other)),
    ]);
    expect(answers.map(({ status, code }) => [status, code])).toEqual([
      [200, undefined],
      [401, "missing_api_key"],
    ]);
    expect((await nodes.send("GET", "/v1/me", { cookie: answers[0]?.cookie as string })).status).toBe(200);
  });

  test("writes must come from the service's own pages; reads may come from anywhere", async () => {
    const { cookie } = await nodes.signedUp();
    const host = new URL(nodes.url).host;
    const write = (headers: Record<string, string>) =>
      nodes.send("POST", "/v1/api-keys", { cookie, body: {}, headers });
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `http://${host}.evil.example` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: `http://${host}` },
    ]) {
      const answer = await write(headers);
      expect([answer.status, answer.code], JSON.stringify(headers)).toEqual([403, "forbidden"]);
    }
    expect((await write({ origin: `http://${host}` })).status).toBe(201);
    expect((await write({ "sec-fetch-site": "same-origin", origin: `http://${host}` })).status).toBe(201);
    expect((await nodes.send("GET", "/v1/me", { cookie, headers: { origin: "https://evil.example" } })).status).toBe(
      200,
    );
    const login = { body: { email: nodes.newAddress(), password }, headers: { origin: "https://evil.example" } };
    expect((await nodes.send("POST", "/v1/auth/login", login)).code).toBe("forbidden");
  });

  test("a write for another person than the session's is refused", async () => {
    const [ann, bob] = [await nodes.signedUp(), await nodes.signedUp()];
    const me = await nodes.send("GET", "/v1/me", { cookie: ann.cookie });
    const write = (page_of: string, as: string) =>
      nodes.send("POST", "/v1/api-keys", {
        body: { name: "k", role: "agent" },
        cookie: as,
        headers: { "x-service-caller": page_of },
      });
    const { id } = me.json.caller;
    expect((await write(id, ann.cookie)).status).toBe(201);
    const refused = await write(id, bob.cookie);
    expect([refused.status, refused.code]).toEqual([403, "forbidden"]);
    expect(refused.json.error.details).toMatchObject([{ path: "/X-Service-Caller", code: "another_caller" }]);
    expect((await write("open_mode", ann.cookie)).status).toBe(403);
    expect(
      (await nodes.send("GET", "/v1/me", { cookie: bob.cookie, headers: { "x-service-caller": id } })).status,
    ).toBe(200);
    // The sender's own mismatch comes before the other person's missing rights.
    const { cookie } = await nodes.joined(ann.cookie, "reviewer");
    expect((await write(id, cookie)).json.error.details).toMatchObject([{ code: "another_caller" }]);
    // For a key the header is ignored.
    const org = await testOrganization(database.db);
    const { api_key } = await org.key({ role: "admin" });
    expect(
      (
        await nodes.send("POST", "/v1/api-keys", {
          body: { name: "k", role: "agent" },
          key: api_key,
          headers: { "x-service-caller": id },
        })
      ).status,
    ).toBe(201);
  });

  test("a caller without a valid session is asked to sign in, not only to send a key", async () => {
    const { cookie } = await nodes.signedUp();
    expect((await nodes.send("DELETE", "/v1/auth/sessions", { cookie })).status).toBe(204);
    const over = { cookie };
    for (const [method, path, sent] of [
      ["GET", "/v1/auth/session", {}],
      ["GET", "/v1/auth/session", over],
      ["GET", "/v1/auth/sessions", {}],
      ["GET", "/v1/me", over],
      ["POST", "/v1/auth/mfa/verify", { body: { code: "123456" } }],
    ] as const) {
      const answer = await nodes.send(method, path, sent);
      expect([path, answer.status, answer.code]).toEqual([path, 401, "missing_api_key"]);
      expect(answer.json.error.details).toMatchObject([{ path: "", code: "no_session" }]);
    }
    // If a key would do, a caller without credentials is asked for a key.
    expect((await nodes.send("GET", "/v1/me")).json.error.details).toEqual([]);
  });

  test("a key takes precedence over a cookie, and a key alone is no session", async () => {
    const { cookie } = await nodes.signedUp();
    const org = await testOrganization(database.db);
    const key = (await org.key()).api_key;
    expect((await nodes.send("GET", "/v1/me", { cookie, key })).json.caller).toMatchObject({
      org_id: org.org_id,
      type: "key",
    });
    expect((await nodes.send("GET", "/v1/me", { cookie, key: "svc_live_org_junk" })).code).toBe("invalid_api_key");
    expect((await nodes.send("GET", "/v1/auth/sessions", { key })).code).toBe("forbidden");
    expect((await nodes.send("POST", "/v1/auth/totp/enrol", { key })).code).toBe("forbidden");
  });
});
