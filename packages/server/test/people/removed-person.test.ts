import { beforeAll, describe, expect, test } from "vitest";
import { insertPerson } from "../../src/store/people/people.ts";
import { deleteSessions } from "../../src/store/people/sessions.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const remove = (admin: string, user_id: string, made?: Record<string, string>) =>
  nodes.send("DELETE", `/v1/people/${user_id}`, { cookie: admin, ...(made === undefined ? {} : { body: { made } }) });
const invite = (cookie: string, email: string, role = "reviewer") =>
  nodes.send("POST", "/v1/auth/invitations", { cookie, body: { email, role } });
const accept = (token: string) => nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } });

test("every member can leave, but the last admin cannot", async () => {
  const admin = await nodes.signedUp();
  const { cookie, user_id, email } = await nodes.joined(admin.cookie, "reviewer");
  const left = await nodes.send("POST", "/v1/auth/leave", { cookie });
  expect([left.status, left.set?.startsWith("countersign_session=;")]).toEqual([204, true]);
  expect((await nodes.send("GET", "/v1/me", { cookie })).status).toBe(401);
  const trail = await nodes.send("GET", "/v1/audit?type=user_removed", { cookie: admin.cookie });
  expect(trail.json.audit).toMatchObject([{ actor: { id: user_id }, data: { user_id, email } }]);
  expect((await nodes.send("POST", "/v1/auth/leave", { cookie: admin.cookie })).code).toBe("state_conflict");
});

describe("ends with the person", () => {
  test("a password link, even if the same address later belongs to a person again", async () => {
    const admin = await nodes.signedUp();
    const former = await nodes.joined(admin.cookie, "reviewer");
    const forgot = () => nodes.send("POST", "/v1/auth/password/forgot", { body: { email: former.email } });
    const reset = (token: string) =>
      nodes.send("POST", "/v1/auth/password/reset", { body: { token, password: "a new password" } });
    await forgot();
    const token = await nodes.mailed(former.email, /^Set a new/);
    expect((await remove(admin.cookie, former.user_id)).status).toBe(204);
    expect((await reset(token)).code).toBe("not_found");
    expect(
      await database.db.query("select from person_tokens where subject ->> 'user_id' = $1", [former.user_id]),
    ).toEqual([]);

    await invite(admin.cookie, former.email);
    await expect
      .poll(() => nodes.mails.filter(({ to, subject }) => to === former.email && /^Join/.test(subject)).length)
      .toBe(2);
    expect((await accept(await nodes.mailed(former.email, /^Join/))).status).toBe(200);
    expect((await reset(token)).code).toBe("not_found");
    expect((await nodes.send("POST", "/v1/auth/login", { body: { email: former.email, password } })).status).toBe(200);
  });

  test("a session: a correct password that waited for the removal is not called wrong", async () => {
    const admin = await nodes.signedUp();
    const { cookie, user_id } = await nodes.joined(admin.cookie, "operator");
    const body = { current_password: password, password: "a new password" };
    let changed: Awaited<ReturnType<typeof nodes.send>> | undefined;
    await meanwhile(database.db, (query) => query("select from people where user_id = $1 for update", [user_id]), [
      () => remove(admin.cookie, user_id),
      async () => {
        changed = await nodes.send("POST", "/v1/auth/password", { cookie, body });
      },
    ]);
    expect([changed?.status, changed?.code]).toEqual([401, "missing_api_key"]);
  });

  test("second factor and recovery codes: after a new invitation it is a new person", async () => {
    const admin = await nodes.signedUp();
    const former = await nodes.joined(admin.cookie, "operator");
    await database.db.system(async (query) => {
      await query("update people set totp_sealed = 'x', totp_confirmed_at = now() where user_id = $1", [
        former.user_id,
      ]);
      await query("insert into recovery_codes (org_id, user_id, code_sha256) values ($1, $2, sha256('x'))", [
        admin.session.org_id,
        former.user_id,
      ]);
    });
    expect((await remove(admin.cookie, former.user_id)).status).toBe(204);
    for (const table of ["people", "person_index", "recovery_codes", "sessions", "passkeys", "passkey_index"])
      expect(await database.db.query(`select from ${table} where user_id = $1`, [former.user_id]), table).toEqual([]);
    await invite(admin.cookie, former.email);
    await expect.poll(() => nodes.count(former.email)).toBe(2);
    const back = (await accept(await nodes.mailed(former.email, /^Join/))).json.session;
    expect(back).toMatchObject({ mfa_required: false, user: { mfa_enabled: false, role: "reviewer" } });
    expect(back.user.user_id).not.toBe(former.user_id);
  });

  test("an unused invitation to the person's address", async () => {
    const admin = await nodes.signedUp();
    const email = nodes.newAddress();
    await invite(admin.cookie, email, "admin");
    const token = await nodes.mailed(email, /^Join/);
    // Imitates data of older versions: joining another way left the invitation open.
    const { org_id } = admin.session;
    const user_id = "usr_joined_otherwise";
    const created_at = new Date().toISOString();
    const person = { org_id, user_id, email, role: "reviewer", password_hash: null, created_at } as const;
    await database.db.system((query) => insertPerson(query, person));
    expect((await accept(token)).code).toBe("already_exists");
    expect((await remove(admin.cookie, user_id)).status).toBe(204);
    expect((await accept(token)).code).toBe("not_found");
    expect((await nodes.send("GET", "/v1/auth/invitations", { cookie: admin.cookie })).json.invitations).toEqual([]);
    const trail = await nodes.send("GET", "/v1/audit?type=invitation_revoked", { cookie: admin.cookie });
    expect(trail.json.audit).toMatchObject([{ actor: { id: admin.session.user.user_id }, data: { email } }]);
  });

  test("an invitation that the person sends during the removal", async () => {
    const admin = await nodes.signedUp();
    const former = await nodes.joined(admin.cookie, "admin");
    const { org_id } = admin.session;
    const email = nodes.newAddress();
    let sending: ReturnType<typeof invite> | undefined;
    await database.db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      sending = invite(former.cookie, email, "admin");
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await database.db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      // Imitates a removal that locked the head first and ended the sessions.
      expect(await deleteSessions(query, org_id, former.user_id)).toBe(1);
    });
    expect((await sending)?.code).toBe("missing_api_key");
    expect((await nodes.send("GET", "/v1/auth/invitations", { cookie: admin.cookie })).json.invitations).toEqual([]);
  });
});

describe("stays, or waits for others", () => {
  test("keys that were chosen to be kept, and the trail names them", async () => {
    const admin = await nodes.signedUp();
    const former = await nodes.joined(admin.cookie, "admin");
    const { api_key, key_id } = (
      await nodes.send("POST", "/v1/api-keys", { cookie: former.cookie, body: { role: "operator" } })
    ).json;
    expect((await remove(admin.cookie, former.user_id, { [key_id]: "keep" })).status).toBe(204);
    for (const base of [nodes.url, nodes.other])
      expect((await nodes.send("GET", "/v1/me", { key: api_key }, base)).json.caller).toMatchObject({ id: key_id });
    const path = `/v1/audit?type=key_created&actor=${former.user_id}`;
    expect((await nodes.send("GET", path, { cookie: admin.cookie })).json.audit).toMatchObject([{ data: { key_id } }]);
    expect((await nodes.send("DELETE", `/v1/api-keys/${key_id}`, { cookie: admin.cookie })).status).toBe(204);
    expect((await nodes.send("GET", "/v1/me", { key: api_key })).code).toBe("invalid_api_key");
  });

  test("a review assigned to the person: nobody else's until reassigned, with the same time limit", async () => {
    const admin = await nodes.signedUp();
    const former = await nodes.joined(admin.cookie, "reviewer");
    const other = await nodes.joined(admin.cookie, "reviewer");
    const [membrane] = (await nodes.send("GET", "/v1/membranes", { cookie: admin.cookie })).json.membranes;
    const membrane_path = `/v1/membranes/${membrane.membrane_id}`;
    const escalation = { ...membrane.escalation, reviewers: [{ type: "user", id: former.user_id }] };
    const change = { packs: [], default_verdict: "escalate", escalation };
    expect((await nodes.send("PATCH", membrane_path, { cookie: admin.cookie, body: change })).status).toBe(200);
    await nodes.send("POST", `${membrane_path}/go-live`, { cookie: admin.cookie });
    const intent = { agent: { id: "a" }, action: { type: "payment.transfer", verb: "pay" } };
    const held = (await nodes.send("POST", "/v1/intents", { cookie: admin.cookie, body: { intent } })).json;
    const path = `/v1/escalations/${held.decision.escalation_id}`;
    const decide = (cookie: string) => nodes.send("POST", `${path}/decision`, { cookie, body: { outcome: "approve" } });

    expect((await remove(admin.cookie, former.user_id)).status).toBe(204);
    expect((await decide(former.cookie)).code).toBe("missing_api_key");
    expect((await decide(other.cookie)).code).toBe("forbidden");
    const left = await nodes.send("GET", `/v1/escalations?status=pending&reviewer=${former.user_id}`, {
      cookie: admin.cookie,
    });
    expect(left.json.escalations).toMatchObject([{ escalation_id: held.decision.escalation_id, status: "pending" }]);
    const reviewers = [{ type: "user", id: other.user_id }];
    const handed = await nodes.send("POST", `${path}/reassign`, { cookie: admin.cookie, body: { reviewers } });
    expect(handed.json.escalation).toMatchObject({ reviewers, expires_at: left.json.escalations[0].expires_at });
    expect((await decide(other.cookie)).json.escalation).toMatchObject({ status: "decided" });
  });
});
