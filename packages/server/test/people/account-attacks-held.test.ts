import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const invite = (cookie: string, email: string, role: string) =>
  nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email, role } });
const accept = (token: string, base = nodes.url) =>
  nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } }, base);

describe("links", () => {
  test("no link works for another purpose, and an attempt does not use it up", async () => {
    const admin = await nodes.signedUp();
    const email = nodes.newAddress();
    await nodes.send("POST", "/v1/auth/signup", { body: { org_name: "New", email, password } });
    const invited = nodes.newAddress();
    await invite(admin.cookie, invited, "reviewer");
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email: admin.email } });
    const tokens = {
      "verify-email": await nodes.mailed(email, /^Confirm/),
      "invitations/accept": await nodes.mailed(invited, /^Join/),
      "password/reset": await nodes.mailed(admin.email, /^Set a new/),
    };
    const use = (path: string, token: string) => nodes.send("POST", `/v1/auth/${path}`, { body: { token, password } });
    for (const [purpose, token] of Object.entries(tokens)) {
      for (const path of Object.keys(tokens)) {
        if (path === purpose) continue;
        expect([(await use(path, token)).code, path, purpose]).toEqual(["not_found", path, purpose]);
      }
      expect((await nodes.send("POST", `/v1/unsubscribe?token=${token}`)).code).toBe("not_found");
    }
    for (const [purpose, token] of Object.entries(tokens)) expect((await use(purpose, token)).status).toBeLessThan(300);
  });

  test("an invitation accepted twice at once on two nodes creates one person", async () => {
    const admin = await nodes.signedUp();
    const email = nodes.newAddress();
    await invite(admin.cookie, email, "reviewer");
    const token = await nodes.mailed(email, /^Join/);
    const answers = await Promise.all([accept(token), accept(token, nodes.other), accept(token), accept(token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404]);
  });

  test("a password link used at once on two nodes sets one password", async () => {
    const { email } = await nodes.signedUp();
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
    const token = await nodes.mailed(email, /^Set a new/);
    const words = ["one new password", "another new password", "a third new password"];
    const reset = (word: string, n: number) =>
      nodes.send(
        "POST",
        "/v1/auth/password/reset",
        { body: { token, password: word } },
        n % 2 ? nodes.other : nodes.url,
      );
    const answers = await Promise.all(words.map(reset));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404]);
    for (const [n, { status }] of answers.entries()) {
      const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password: words[n] } });
      expect(login.status).toBe(status === 204 ? 200 : 401);
    }
  });

  test("an invitation accepted and withdrawn at once is one or the other, never both", async () => {
    const admin = await nodes.signedUp();
    for (let n = 0; n < 4; n += 1) {
      const email = nodes.newAddress();
      const { invitation_id } = (await invite(admin.cookie, email, "reviewer")).json.invitation;
      const token = await nodes.mailed(email, /^Join/);
      const [accepted, revoked] = await Promise.all([
        accept(token, n % 2 ? nodes.other : nodes.url),
        nodes.send("DELETE", `/v1/auth/invitations/${invitation_id}`, { cookie: admin.cookie }),
      ]);
      expect([`200 404`, `404 204`]).toContain(`${accepted.status} ${revoked.status}`);
    }
  });

  test("an address invited by two organizations joins one of them", async () => {
    const email = nodes.newAddress();
    const admins = [await nodes.signedUp(), await nodes.signedUp()];
    for (const { cookie } of admins) expect((await invite(cookie, email, "reviewer")).status).toBe(201);
    await expect.poll(() => nodes.count(email)).toBe(2);
    const tokens = nodes.mails
      .filter((mail) => mail.to === email)
      .map((mail) => decodeURIComponent(/\?token=([\w%.-]+)/.exec(mail.text)?.[1] ?? ""));
    const answers = await Promise.all(tokens.map((token, n) => accept(token, n ? nodes.other : nodes.url)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe("sessions", () => {
  test("a login accepts no session text from the browser, and an earlier session does not continue", async () => {
    const { email, cookie } = await nodes.signedUp();
    const planted = `countersign_session=${"A".repeat(43)}`;
    for (const brought of [planted, cookie]) {
      const login = await nodes.send("POST", "/v1/auth/login", { cookie: brought, body: { email, password } });
      expect([login.status, login.cookie === brought]).toEqual([200, false]);
    }
    expect((await nodes.send("GET", "/v1/me", { cookie: planted })).status).toBe(401);
  });

  test("two cookies of the same name count as none, because an attacker may have set one", async () => {
    const { cookie } = await nodes.signedUp();
    const other = await nodes.signedUp();
    expect((await nodes.send("GET", "/v1/me", { cookie: `${cookie}; ${other.cookie}` })).status).toBe(401);
  });

  test("a code that waited while another guess ended its login is neither called wrong nor counted", async () => {
    const { email, session } = await nodes.signedUp();
    const { user_id } = session.user;
    await database.db.query("update people set totp_sealed = 'x', totp_confirmed_at = now() where user_id = $1", [
      user_id,
    ]);
    const { json, cookie } = await nodes.send("POST", "/v1/auth/login", { body: { email, password } });
    const failures = "update sessions set mfa_failures = $2::integer where session_id = $1";
    await database.db.query(failures, [json.session.session_id, limits.session_mfa_failures_max - 1]);
    const codes: string[] = [];
    const guess = (base: string) => async () =>
      codes.push(
        (
          await nodes.send(
            "POST",
            "/v1/auth/mfa/verify",
            { cookie: cookie as string, body: { code: "wrong-wrong" } },
            base,
          )
        ).code,
      );
    await meanwhile(database.db, (query) => query("select from people where user_id = $1 for update", [user_id]), [
      guess(nodes.url),
      guess(nodes.other),
    ]);
    expect(codes.sort()).toEqual(["invalid_credentials", "missing_api_key"]);
    const counted = await database.db.query("select mfa_failures from sessions where session_id = $1", [
      json.session.session_id,
    ]);
    expect(counted).toEqual([{ mfa_failures: limits.session_mfa_failures_max }]);
  });

  test("end on every node with a reset, another role, a removal or a sign-out everywhere, also waiting requests", async () => {
    const admin = await nodes.signedUp();
    const ways = {
      reset: async (email: string) => {
        await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
        const token = await nodes.mailed(email, /^Set a new/);
        return nodes.send("POST", "/v1/auth/password/reset", { body: { token, password } });
      },
      role: (_: string, user_id: string) =>
        nodes.send("PATCH", `/v1/people/${user_id}`, { cookie: admin.cookie, body: { role: "auditor" } }),
      removal: (_: string, user_id: string) => nodes.send("DELETE", `/v1/people/${user_id}`, { cookie: admin.cookie }),
      everywhere: (_: string, __: string, cookie: string) => nodes.send("DELETE", "/v1/auth/sessions", { cookie }),
    };
    for (const [name, end] of Object.entries(ways)) {
      const { email, user_id, cookie } = await nodes.joined(admin.cookie, "reviewer");
      const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password } }, nodes.other);
      const [session_id] = [login.json.session.session_id];
      await database.db.system((query) =>
        query("update sessions set mfa_pending = true where session_id = $1", [session_id]),
      );
      expect((await end(email, user_id, cookie)).status, name).toBeLessThan(300);
      for (const base of [nodes.url, nodes.other]) {
        expect((await nodes.send("GET", "/v1/me", { cookie }, base)).status, name).toBe(401);
        const waiting = await nodes.send("GET", "/v1/auth/session", { cookie: login.cookie as string }, base);
        expect(waiting.status, name).toBe(401);
      }
    }
  });

  test("no session text, link, seed or password is in the database, in a log line or in the audit trail", async () => {
    const lines: string[] = [];
    const line = (fields: object, message: string) => void lines.push(message + JSON.stringify(fields));
    const log = { debug: line, info: line, warn: line, error: line };
    const node = await serviceNode(database, { ...nodes.parts, log });
    const { email, cookie, token } = await nodes.signedUp();
    const login = await nodes.send("POST", "/v1/auth/login", { body: { email, password } }, node.url);
    await nodes.send("GET", `/v1/me?token=${token}`, { cookie: login.cookie as string }, node.url);
    const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie }, node.url)).json;
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } }, node.url);
    const reset = await nodes.mailed(email, /^Set a new/);
    const tables = await database.db.query<{ t: string }>(
      "select table_name as t from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    let dump = lines.join("\n");
    for (const { t } of tables) dump += JSON.stringify(await database.db.query(`select x::text from "${t}" x`));
    for (const text of [token, reset, secret, password, cookie, login.cookie as string])
      expect(dump).not.toContain(text.replace("countersign_session=", ""));
    expect(lines.join("\n")).not.toContain(email);
  });
});

describe("roles and tenants", () => {
  test("if admins demote or remove each other at once on two nodes, one stays", async () => {
    for (const method of ["PATCH", "DELETE"]) {
      const one = await nodes.signedUp();
      const two = await nodes.joined(one.cookie, "admin");
      const body = method === "PATCH" ? { body: { role: "reviewer" } } : {};
      const first = `/v1/people/${one.session.user.user_id}`;
      const answers = await Promise.all([
        nodes.send(method, first, { cookie: two.cookie, ...body }, nodes.other),
        nodes.send(method, `/v1/people/${two.user_id}`, { cookie: one.cookie, ...body }),
        nodes.send(method, first, { cookie: one.cookie, ...body }),
      ]);
      expect(answers.every(({ status }) => status < 500)).toBe(true);
      const left = await database.db.query("select from people where org_id = $1 and role = 'admin'", [
        one.session.org_id,
      ]);
      expect(left).toHaveLength(1);
    }
  });

  test.each(["operator", "reviewer", "agent", "auditor"])(
    "a caller with role %s cannot invite, change or remove people",
    async (role) => {
      const admin = await nodes.signedUp();
      const { cookie, user_id } = await nodes.joined(admin.cookie, role);
      const requests = [
        invite(cookie, nodes.newAddress(), "admin"),
        nodes.send("PATCH", `/v1/people/${user_id}`, { cookie, body: { role: "admin" } }),
        nodes.send("DELETE", `/v1/people/${admin.session.user.user_id}`, { cookie }),
        nodes.send("GET", "/v1/auth/invitations", { cookie }),
        nodes.send("POST", "/v1/api-keys", { cookie, body: { role: "admin" } }),
        nodes.send("DELETE", "/v1/auth/sso", { cookie }),
      ];
      for (const answer of await Promise.all(requests))
        expect([answer.status, answer.code]).toEqual([403, "forbidden"]);
    },
  );

  test("another organization's people, invitations and sessions answer like missing ones", async () => {
    const [mine, other] = [await nodes.signedUp(), await nodes.signedUp()];
    const { invitation_id } = (await invite(other.cookie, nodes.newAddress(), "reviewer")).json.invitation;
    const { cookie } = mine;
    const none = "0".repeat(26);
    for (const [method, path, id, unknown, body] of [
      ["PATCH", "/v1/people/", other.session.user.user_id, `usr_${none}`, { role: "agent" }],
      ["DELETE", "/v1/people/", other.session.user.user_id, `usr_${none}`, undefined],
      ["DELETE", "/v1/auth/invitations/", invitation_id, `inv_${none}`, undefined],
      ["DELETE", "/v1/auth/sessions/", other.session.session_id, `ses_${none}`, undefined],
    ] as const) {
      const texts = [];
      for (const each of [id, unknown]) {
        const answer = await nodes.send(method, path + each, { cookie, ...(body && { body }) });
        expect([answer.status, answer.code, path]).toEqual([404, "not_found", path]);
        texts.push(JSON.stringify({ ...answer.json.error, request_id: "" }));
      }
      expect(texts[0]).toBe(texts[1]);
    }
  });
});

describe("addresses and limits", () => {
  test("X-Forwarded-For from an untrusted proxy gives no new rate budget", async () => {
    const node = await serviceNode(database, { ...nodes.parts, config: { rate_limits: {} } });
    const statuses: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const headers = {
        "x-forwarded-for": `203.0.113.${n}`,
        forwarded: `for=203.0.113.${n}`,
        "x-real-ip": `203.0.113.${n}`,
      };
      const body = { email: nodes.newAddress(), password: "wrong" };
      statuses.push((await nodes.send("POST", "/v1/auth/login", { body, headers }, node.url)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test("behind a trusted proxy the clients of one IPv6 network share a budget, others have their own", async () => {
    const config = { rate_limits: {}, trust_proxy: ["127.0.0.1/32"] };
    const node = await serviceNode(database, { ...nodes.parts, config });
    const from = async (address: string) => {
      const body = { email: nodes.newAddress(), password: "wrong" };
      return (await nodes.send("POST", "/v1/auth/login", { body, headers: { "x-forwarded-for": address } }, node.url))
        .status;
    };
    for (let n = 0; n < limits.session_mfa_failures_max; n += 1) expect(await from(`2001:db8::${n}`)).toBe(401);
    expect([await from("2001:db8::ffff"), await from("2001:db8:0:1::1")]).toEqual([429, 401]);
  });
});

describe("odd input", () => {
  const odd: readonly (readonly [string, unknown])[] = [
    ["a list", ["a@example.com"]],
    ["an object", { $ne: null }],
    ["a number", 1],
    ["NUL", "a\0@example.com"],
    ["half a surrogate pair", "\ud800@example.com"],
    ["another script's letters", "\u212Aim@example.com"],
    ["two addresses", "a@example.com,b@example.com"],
    ["a name and an address", "a <a@example.com>"],
    ["a line break", "a@example.com\r\nBcc: b@example.com"],
    ["many kilobytes", `${"a".repeat(15_000)}@example.com`],
  ];
  test.each(odd)("an address that is %s: 400 everywhere", async (_, email) => {
    const { cookie } = await nodes.signedUp();
    const requests = [
      nodes.send("POST", "/v1/auth/signup", { body: { org_name: "Acme", email, password } }),
      nodes.send("POST", "/v1/auth/login", { body: { email, password } }),
      nodes.send("POST", "/v1/auth/password/forgot", { body: { email } }),
      nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email, role: "reviewer" } }),
      nodes.send("POST", "/v1/auth/sso/begin", { body: { email } }),
    ];
    for (const answer of await Promise.all(requests)) expect(answer.status).toBe(400);
  });

  test("an address of a megabyte is not even read", async () => {
    const email = `${"a".repeat(1_000_000)}@example.com`;
    for (const path of ["signup", "login", "password/forgot", "sso/begin"]) {
      const answer = await nodes.send("POST", `/v1/auth/${path}`, { body: { org_name: "Acme", email, password } });
      expect([answer.status, answer.json.error.code]).toEqual([413, "payload_too_large"]);
    }
  });

  test("form and plain text bodies are refused: another site's form cannot log anybody in", async () => {
    const { email } = await nodes.signedUp();
    const body = JSON.stringify({ email, password });
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "application/jsonx",
    ]) {
      const answer = await nodes.send("POST", "/v1/auth/login", { body, headers: { "Content-Type": type } });
      expect([answer.status, answer.set]).toEqual([415, null]);
    }
  });

  test.each([
    ["POST", "/v1/auth/login", { email: "a@example.com", password }],
    ["POST", "/v1/auth/logout", undefined],
    ["POST", "/v1/auth/verify-email", { token: "x", password }],
    ["POST", "/v1/auth/mfa/verify", { code: "123456" }],
    ["POST", "/v1/auth/password/reset", { token: "x", password }],
    ["POST", "/v1/auth/invitations/accept", { token: "x", password }],
    ["DELETE", "/v1/auth/sessions", undefined],
    ["POST", "/v1/auth/totp/enrol", undefined],
    ["PATCH", "/v1/auth/profile", { notify: false }],
  ])("%s %s from another page, a sandboxed frame or another port: 403", async (method, path, body) => {
    const { cookie } = await nodes.signedUp();
    const { hostname, port } = new URL(nodes.url);
    for (const headers of [
      { origin: "null" },
      { origin: `http://${hostname}:${Number(port) + 1}` },
      { origin: "https://evil.example" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { origin: "" },
    ] as Record<string, string>[]) {
      const answer = await nodes.send(method, path, { cookie, headers, ...(body && { body }) });
      expect([answer.status, answer.code, JSON.stringify(headers)]).toEqual([
        403,
        "forbidden",
        JSON.stringify(headers),
      ]);
    }
    expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(200);
  });
});
