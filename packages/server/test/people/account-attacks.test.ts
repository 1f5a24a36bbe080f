import { request } from "node:http";
import { limits } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import type { Query } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { cheapPasswords } from "../../src/testing/people/passwords.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const junk = "x".repeat(43);

describe("work that a stranger can cause", () => {
  test("no password is hashed for a link that does not work", async () => {
    const real = cheapPasswords();
    let hashed = 0;
    const passwords = {
      ...real,
      hash: (text: string) => {
        hashed += 1;
        return real.hash(text);
      },
      verify: (known: string | null, text: string) => {
        hashed += 1;
        return real.verify(known, text);
      },
    };
    const node = await serviceNode(database, { ...nodes.parts, passwords });
    for (const path of ["/v1/auth/password/reset", "/v1/auth/invitations/accept", "/v1/auth/verify-email"]) {
      const answer = await nodes.send("POST", path, { body: { token: junk, password } }, node.url);
      expect([answer.status, answer.code]).toEqual([404, "not_found"]);
    }
    expect(hashed).toBe(0);
    const { email } = await nodes.signedUp();
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
    const body = { token: await nodes.mailed(email, /^Set a new/), password };
    expect((await nodes.send("POST", "/v1/auth/password/reset", { body }, node.url)).status).toBe(204);
    expect(hashed).toBe(1);
  });
});

test("an address gets one mail a minute, however many links are requested", async () => {
  const { email } = await nodes.signedUp();
  const ask = async () => {
    const asked = Array.from({ length: 10 }, (_, n) =>
      nodes.send("POST", "/v1/auth/password/forgot", { body: { email } }, n % 2 ? nodes.other : nodes.url),
    );
    for (const { status } of await Promise.all(asked)) expect(status).toBe(202);
    const waiting = () => database.db.query("select from mails where kind = 'password'");
    await expect.poll(async () => (await waiting()).length).toBe(0);
    return nodes.mails.filter((mail) => mail.to === email && /^Set a new/.test(mail.subject)).length;
  };
  expect(await ask()).toBe(1);
  await nodes.advance(limits.password_mail_every_seconds);
  expect(await ask()).toBe(2);
});

test("requesting links in another person's name voids none that were sent; using one voids the others", async () => {
  const { email } = await nodes.signedUp();
  const sent = () => nodes.mails.filter((mail) => mail.to === email && /^Set a new/.test(mail.subject));
  for (let n = 1; n <= 3; n += 1) {
    await nodes.advance(limits.password_mail_every_seconds);
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
    await expect.poll(() => sent().length).toBe(n);
  }
  const tokens = sent().map(({ text }) => decodeURIComponent(/\?token=([\w%.-]+)/.exec(text)?.[1] ?? ""));
  const reset = (token: string | undefined) =>
    nodes.send("POST", "/v1/auth/password/reset", { body: { token, password } });
  expect((await reset(tokens[0])).status).toBe(204);
  for (const token of tokens) expect((await reset(token)).code).toBe("not_found");
});

describe("whose address is known", () => {
  test("a login with an unknown address sends as many statements as one with a wrong password", async () => {
    const { email, session } = await nodes.signedUp();
    const unknown = nodes.newAddress();
    let asked: readonly unknown[][] = [];
    /** The workers also send statements. Only those about these two people count. */
    const counting = (query: Query): Query => {
      return (text, params = []) => {
        // The empty user_id stands for the person of the unknown address.
        if ([email, unknown, session.user.user_id, ""].some((each) => params.includes(each)))
          asked = [...asked, [...params]];
        return query(text, params);
      };
    };
    const db: typeof database.db = {
      ...database.db,
      system: (work) => database.db.system((query) => work(counting(query))),
    };
    const node = await serviceNode(database, { ...nodes.parts, db });
    const statements: number[] = [];
    for (const address of [email, unknown]) {
      asked = [];
      const body = { email: address, password: "wrong" };
      expect((await nodes.send("POST", "/v1/auth/login", { body }, node.url)).code).toBe("invalid_credentials");
      statements.push(asked.length);
    }
    expect(statements).toEqual([2, 2]);
  });
});

describe("what a former admin leaves behind", () => {
  test.each([
    ["made a reviewer", "PATCH", { role: "reviewer" }],
    ["removed", "DELETE", {}],
  ] as const)(
    "invitations of a person who was %s are void once revoked; other people's stay",
    async (_, method, body) => {
      const admin = await nodes.signedUp();
      const former = await nodes.joined(admin.cookie, "admin");
      const invite = async (cookie: string) => {
        const email = nodes.newAddress();
        const invitation = { email, role: "admin" };
        const sent = await nodes.send("POST", "/v1/auth/invitations", { cookie, body: invitation });
        expect(sent.status).toBe(201);
        const { invitation_id } = sent.json.invitation;
        return { email, token: await nodes.mailed(email, /^Join/), invitation_id: invitation_id as string };
      };
      const [back_door, front_door] = [await invite(former.cookie), await invite(admin.cookie)];
      const changed = await nodes.send(method, `/v1/people/${former.user_id}`, {
        cookie: admin.cookie,
        body: { ...body, made: { [back_door.invitation_id]: "revoke" } },
      });
      expect(changed.status).toBeLessThan(300);
      const accept = (token: string) =>
        nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } });
      expect((await accept(back_door.token)).code).toBe("not_found");
      const { invitations } = (await nodes.send("GET", "/v1/auth/invitations", { cookie: admin.cookie })).json;
      expect(invitations).toMatchObject([{ email: front_door.email }]);
      const audit = (await nodes.send("GET", "/v1/audit?type=invitation_revoked", { cookie: admin.cookie })).json.audit;
      expect(audit).toMatchObject([{ actor: { id: admin.session.user.user_id }, data: { email: back_door.email } }]);
      expect((await accept(front_door.token)).status).toBe(200);
    },
  );
});

test("an organization never exceeds its limit of people, however many invitations it sent", async () => {
  const admin = await nodes.signedUp();
  const [first, second] = [nodes.newAddress(), nodes.newAddress()];
  for (const email of [first, second])
    await nodes.send("POST", "/v1/auth/invitations", { cookie: admin.cookie, body: { email, role: "auditor" } });
  const tokens = [await nodes.mailed(first, /^Join/), await nodes.mailed(second, /^Join/)];
  await database.db.system((query) =>
    query(
      `insert into people (org_id, user_id, email, role, created_at)
       select $1, 'usr_filler_' || n, 'filler-' || n || '@example.com', 'auditor', now() from generate_series(1, $2::integer) as n`,
      [admin.session.org_id, limits.people_per_organization_max - 2],
    ),
  );
  const answers = await Promise.all(
    tokens.map((token, n) =>
      nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } }, n ? nodes.other : nodes.url),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
});

describe("a request past the gate with a slow body", () => {
  /** Sends the head, waits until the gate accepts it, and sends the body after `meanwhile`. */
  function held(credential: Record<string, string>, path: string, text: string, meanwhile: () => Promise<void>) {
    return new Promise<{ status: number | undefined; code: string | undefined }>((resolve, reject) => {
      const headers = {
        ...credential,
        Origin: nodes.url,
        Expect: "100-continue",
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(text),
      };
      const outgoing = request(nodes.url + path, { method: "POST", headers }, (incoming) => {
        let body = "";
        incoming.setEncoding("utf8").on("data", (chunk) => (body += chunk));
        incoming.on("end", () => resolve({ status: incoming.statusCode, code: JSON.parse(body).error?.code }));
      });
      outgoing.on("error", reject);
      outgoing.on("continue", () => meanwhile().then(() => outgoing.end(text), reject));
    });
  }

  test("is refused if its session ended: an old session creates no key", async () => {
    const { cookie } = await nodes.signedUp();
    const answer = await held({ cookie }, "/v1/api-keys", "{}", async () => {
      expect((await nodes.send("DELETE", "/v1/auth/sessions", { cookie })).status).toBe(204);
      await nodes.advance(2);
    });
    expect(answer).toEqual({ status: 401, code: "missing_api_key" });
  });

  test("is refused if its key was revoked, or its person's role no longer allows it", async () => {
    const admin = await nodes.signedUp();
    const { api_key, key_id } = (
      await nodes.send("POST", "/v1/api-keys", { cookie: admin.cookie, body: { role: "admin" } })
    ).json;
    const revoked = await held({ "X-API-Key": api_key }, "/v1/api-keys", "{}", async () => {
      expect((await nodes.send("DELETE", `/v1/api-keys/${key_id}`, { cookie: admin.cookie })).status).toBe(204);
      await nodes.advance(2);
    });
    expect(revoked).toEqual({ status: 401, code: "invalid_api_key" });
    const former = await nodes.joined(admin.cookie, "admin");
    const demoted = await held({ cookie: former.cookie }, "/v1/api-keys", "{}", async () => {
      await database.db.system((query) =>
        query("update people set role = 'reviewer' where user_id = $1", [former.user_id]),
      );
      await nodes.advance(2);
    });
    expect(demoted).toEqual({ status: 403, code: "forbidden" });
  });

  test("succeeds if nothing has changed", async () => {
    const { cookie } = await nodes.signedUp();
    const answer = await held({ cookie }, "/v1/api-keys", "{}", () => nodes.advance(2));
    expect(answer).toEqual({ status: 201, code: undefined });
  });
});

describe("rows are locked in one order, which avoids deadlocks", () => {
  /** Locks a row, sends a request that waits for it, and checks that another row is still unlocked. */
  async function heldMeanwhile<T>(
    held: readonly [from: string, params: readonly unknown[]],
    request: () => Promise<T>,
    free: readonly [from: string, params: readonly unknown[]],
  ): Promise<T> {
    let answer: Promise<T> | undefined;
    await database.db.system(async (query) => {
      await query(`select from ${held[0]} for update`, held[1]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      answer = request();
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await database.db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      expect(await query(`select from ${free[0]} for update nowait`, free[1])).toHaveLength(1);
    });
    return answer as Promise<T>;
  }
  const personRow = (user_id: string) => ["people where user_id = $1", [user_id]] as const;
  const headRow = (org_id: string) => ["org_heads where org_id = $1", [org_id]] as const;

  test.each([
    ["changing a role", "PATCH", { role: "auditor" }, 200],
    ["removing a person", "DELETE", undefined, 204],
  ] as const)("%s while that person logs in", async (_, method, body, status) => {
    const admin = await nodes.signedUp();
    const { user_id } = await nodes.joined(admin.cookie, "reviewer");
    const answer = await heldMeanwhile(
      personRow(user_id),
      () => nodes.send(method, `/v1/people/${user_id}`, { cookie: admin.cookie, ...(body && { body }) }),
      headRow(admin.session.org_id),
    );
    expect(answer.status).toBe(status);
  });

  test("using a session while its person's password is set", async () => {
    const { cookie, session } = await nodes.signedUp();
    await nodes.advance(61);
    const answer = await heldMeanwhile(personRow(session.user.user_id), () => nodes.send("GET", "/v1/me", { cookie }), [
      "sessions where session_id = $1",
      [session.session_id],
    ]);
    expect(answer.status).toBe(200);
  });

  test("a mailed link while its person logs in", async () => {
    const { email, session } = await nodes.signedUp();
    await nodes.send("POST", "/v1/auth/password/forgot", { body: { email } });
    const body = { token: await nodes.mailed(email, /^Set a new/), password };
    const { user_id } = session.user;
    const answer = await heldMeanwhile(
      personRow(user_id),
      () => nodes.send("POST", "/v1/auth/password/reset", { body }),
      ["person_tokens where subject ->> 'user_id' = $1", [user_id]],
    );
    expect(answer.status).toBe(204);
  });

  test("accepting an invitation, and withdrawing one, while somebody changes the organization", async () => {
    const admin = await nodes.signedUp();
    for (const accept of [true, false]) {
      const email = nodes.newAddress();
      const invited = await nodes.send("POST", "/v1/auth/invitations", {
        cookie: admin.cookie,
        body: { email, role: "reviewer" },
      });
      const { invitation_id } = invited.json.invitation;
      const token = await nodes.mailed(email, /^Join/);
      const answer = await heldMeanwhile(
        headRow(admin.session.org_id),
        () =>
          accept
            ? nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } })
            : nodes.send("DELETE", `/v1/auth/invitations/${invitation_id}`, { cookie: admin.cookie }),
        [
          "person_tokens t join invitations i on i.token_sha256 = t.token_sha256 where i.invitation_id = $1",
          [invitation_id],
        ],
      );
      expect(answer.status).toBe(accept ? 200 : 204);
    }
  });
});
