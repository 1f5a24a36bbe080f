/** People's credentials expire by the database's time, on nodes with clocks ten minutes off. */
import { limits } from "@countersign/contract";
import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { expireNow } from "../../src/testing/database/passing-time.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
const off = (seconds: number) => ({ now_us: () => (Date.now() + seconds * 1_000) * 1_000 });
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
let urls: readonly [behind: string, ahead: string];
beforeAll(async () => {
  nodes = await peopleNodes(database, [{ clock: off(-600) }, { clock: off(600) }]);
  urls = [nodes.url, nodes.other];
});

const post = (url: string, path: string, body: object, cookie?: string) =>
  nodes.send("POST", `/v1/auth/${path}`, { body, ...(cookie === undefined ? {} : { cookie }) }, url);
const away = (time: string, seconds: number) => Math.abs(Date.parse(time) - Date.now() - seconds * 1_000) / 1_000;

test("a session, with its cookie", async () => {
  const { email } = await nodes.signedUp();
  for (const url of urls) {
    const login = await post(url, "login", { email, password });
    const { session } = login.json;
    expect(away(session.expires_at, limits.session_lifetime_seconds)).toBeLessThan(60);
    expect(login.set).toContain(`Max-Age=${limits.session_lifetime_seconds};`);
    const cookie = login.cookie as string;
    for (const each of urls) expect((await nodes.send("GET", "/v1/me", { cookie }, each)).status).toBe(200);
    await expireNow(database.db, "sessions", session.session_id);
    for (const each of urls) expect((await nodes.send("GET", "/v1/me", { cookie }, each)).status).toBe(401);
  }
});

test("an unused session", async () => {
  for (const url of urls) {
    const { email } = await nodes.signedUp();
    const cookie = (await post(url, "login", { email, password })).cookie as string;
    await nodes.advance(limits.session_idle_seconds - 60);
    for (const each of urls) expect((await nodes.send("GET", "/v1/me", { cookie }, each)).status).toBe(200);
    await nodes.advance(limits.session_idle_seconds);
    for (const each of urls) expect((await nodes.send("GET", "/v1/me", { cookie }, each)).status).toBe(401);
  }
});

test("a mailed link", async () => {
  for (const [made, used] of [urls, urls.toReversed()] as [string, string][]) {
    const linkTo = async (email: string) => {
      expect((await post(made, "signup", { org_name: "Acme", email, password })).status).toBe(202);
      return nodes.mailed(email, /^Confirm/);
    };
    const late = await linkTo(nodes.newAddress());
    await nodes.advance(limits.signup_link_seconds - 60);
    const token = await linkTo(nodes.newAddress());
    await nodes.advance(60);
    expect((await post(used, "verify-email", { token: late, password })).code).toBe("not_found");
    expect((await post(used, "verify-email", { token, password })).status).toBe(204);
  }
});

test("an invitation", async () => {
  const { cookie } = await nodes.signedUp();
  for (const url of urls) {
    const { json } = await post(url, "invitations", { email: nodes.newAddress(), role: "reviewer" }, cookie);
    expect(away(json.invitation.expires_at, limits.invitation_link_seconds)).toBeLessThan(60);
    const open = async (each: string) =>
      (await nodes.send("GET", "/v1/auth/invitations", { cookie }, each)).json.invitations.length;
    for (const each of urls) expect(await open(each)).toBe(1);
    await expireNow(database.db, "invitations", json.invitation.invitation_id);
    for (const each of urls) expect(await open(each)).toBe(0);
  }
});

test("an authenticator's code, which works once", async () => {
  for (const [one, two] of [urls, urls.toReversed()] as [string, string][]) {
    const { email, cookie } = await nodes.signedUp();
    const { secret } = (await post(one, "totp/enrol", {}, cookie)).json;
    const codeAt = (seconds: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + seconds * 1_000 });
    expect((await post(one, "totp/confirm", { code: codeAt(0) }, cookie)).status).toBe(200);
    const verify = async (url: string, code: string) => {
      const login = await post(url, "login", { email, password });
      return (await post(url, "mfa/verify", { code }, login.cookie as string)).status;
    };
    for (const seconds of [-600, 600]) expect(await verify(two, codeAt(seconds))).toBe(401);
    const code = codeAt(30);
    expect([await verify(two, code), await verify(one, code)]).toEqual([200, 401]);
  }
});
