import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

const verify = (body: object, base = nodes.url) => nodes.send("POST", "/v1/auth/verify-email", { body }, base);
const logIn = (email: string, word: string) =>
  nodes.send("POST", "/v1/auth/login", { body: { email, password: word } });

async function asked(email: string, word: string, org_name = "Acme"): Promise<string> {
  const sent = nodes.count(email);
  const body = { org_name, email, password: word };
  expect((await nodes.send("POST", "/v1/auth/signup", { body })).status).toBe(202);
  await expect.poll(() => nodes.count(email)).toBe(sent + 1);
  return nodes.mailed(email, /^Confirm/);
}

const peopleCalled = (email: string) => database.db.query("select from person_index where email = $1", [email]);

describe("a signup with another person's address", () => {
  const theirs = "chosen by somebody else";

  test("a click of the address's owner on the mailed link creates no account with the other's password", async () => {
    const email = nodes.newAddress();
    const token = await asked(email, theirs);
    const clicked = await verify({ token });
    expect([clicked.status, clicked.json.error.details[0].path]).toEqual([400, "/password"]);
    const own = await verify({ token, password });
    expect([own.status, own.code, own.set]).toEqual([401, "invalid_credentials", null]);
    expect(await peopleCalled(email)).toEqual([]);
    for (const word of [theirs, password]) expect((await logIn(email, word)).code).toBe("invalid_credentials");
  });

  test("the owner's own signup still works: each link requires the password of its signup", async () => {
    const email = nodes.newAddress();
    const planted = await asked(email, theirs, "Evil");
    const own = await asked(email, password, "Own");
    expect((await verify({ token: planted, password })).code).toBe("invalid_credentials");
    expect((await verify({ token: own, password: theirs })).code).toBe("invalid_credentials");
    expect((await verify({ token: own, password })).status).toBe(204);
    const { cookie } = await logIn(email, password);
    expect((await nodes.send("GET", "/v1/me", { cookie: cookie as string })).json.caller.org_name).toBe("Own");
    expect((await verify({ token: planted, password: theirs })).code).toBe("not_found");
    expect((await logIn(email, theirs)).code).toBe("invalid_credentials");
  });
});

test("a wrong password does not use up the link; the right one does, for one of two concurrent requests", async () => {
  const email = nodes.newAddress();
  const token = await asked(email, password);
  expect((await verify({ token, password: `${password} ` })).code).toBe("invalid_credentials");
  const answers = await Promise.all([verify({ token, password }), verify({ token, password }, nodes.other)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
  expect((await verify({ token, password })).code).toBe("not_found");
  expect(await peopleCalled(email)).toHaveLength(1);
});

test("an unknown link answers the same with any password", async () => {
  const token = "x".repeat(43);
  const answers = [await verify({ token, password }), await verify({ token, password: "another one" })];
  for (const answer of answers) expect([answer.status, answer.code]).toEqual([404, "not_found"]);
});

test("a reader of another person's mail cannot guess the password faster than at login", async () => {
  const node = await serviceNode(database, { ...nodes.parts, config: { rate_limits: {} } });
  const token = await asked(nodes.newAddress(), "chosen by somebody else");
  const statuses: number[] = [];
  for (let n = 0; n < 6; n += 1) statuses.push((await verify({ token, password }, node.url)).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
});

test("the mail says that the link asks for the password, and what to do if you did not sign up", async () => {
  const email = nodes.newAddress();
  await asked(email, password);
  const mail = nodes.mails.findLast((each) => each.to === email);
  expect(mail?.text).toContain("asks for the password that was chosen at sign-up");
  expect(mail?.text).toContain("If you did not sign up, ignore this mail");
});
