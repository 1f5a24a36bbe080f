/** People get a mail about each change of their sign-in, because somebody else may have made it. */
import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const told = (to: string) =>
  nodes.mails.filter((mail) => mail.to === to && mail.subject === "How you sign in was changed");
const toldOf = (to: string, changes: readonly RegExp[]) =>
  expect.poll(() => changes.map((change, n) => change.test(told(to)[n]?.text ?? ""))).toEqual(changes.map(() => true));
const post = (path: string, cookie: string | undefined, body: object) =>
  nodes.send("POST", `/v1/auth/${path}`, { body, ...(cookie && { cookie }) });

test("a password set in a session, and one set with a mailed link; no mail for a wrong one", async () => {
  const { email, cookie } = await nodes.signedUp();
  const wrong = { current_password: "wrong horse battery staple", password };
  expect((await post("password", cookie, wrong)).status).toBe(401);
  expect((await post("password", cookie, { current_password: password, password })).status).toBe(200);
  await toldOf(email, [/A new password was set/]);
  expect((await post("password/forgot", undefined, { email })).status).toBe(202);
  const token = await nodes.mailed(email, /^Set a new/);
  expect((await post("password/reset", undefined, { token, password })).status).toBe(204);
  await toldOf(email, [/A new password was set/, /A new password was set/]);
  expect(told(email)).toHaveLength(2);
  for (const mail of told(email)) expect(mail.text).not.toContain("token=");
});

test("a second factor set up, its recovery codes replaced, and switched off", async () => {
  const { email, cookie } = await nodes.signedUp();
  const { secret } = (await nodes.send("POST", "/v1/auth/totp/enrol", { cookie })).json;
  const timestamp = Date.now();
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
  const on = await post("totp/confirm", cookie, { code });
  expect(on.status).toBe(200);
  const [first] = on.json.recovery_codes as string[];
  const replaced = await post("recovery-codes", on.cookie, { code: first });
  expect(replaced.status).toBe(200);
  const [second] = replaced.json.recovery_codes as string[];
  expect((await post("totp/disable", on.cookie, { code: first })).status).toBe(401);
  expect((await post("totp/disable", on.cookie, { code: second })).status).toBe(204);
  await expect.poll(() => told(email).length).toBe(3);
  // Mails of the same moment may arrive in any order.
  const texts = told(email).map((mail) => mail.text);
  for (const change of [/authenticator was set up/, /New recovery codes/, /was switched off/])
    expect(texts.filter((text) => change.test(text))).toHaveLength(1);
});
