import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});

test("an invited person has the name of the invitation, changes it, and removes it; the trail has each change", async () => {
  const { cookie } = await nodes.signedUp();
  const invitation = { email: nodes.newAddress(), role: "reviewer", name: "Ada Lovelace" };
  const invited = await nodes.send("POST", "/v1/auth/invitations", { cookie, body: invitation });
  expect(invited.json.invitation).toMatchObject(invitation);
  const token = await nodes.mailed(invitation.email, /^Join/);
  const accepted = await nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } });
  const { user_id, name } = accepted.json.session.user;
  expect(name).toBe("Ada Lovelace");
  const rename = (name: unknown) =>
    nodes.send("PATCH", "/v1/auth/profile", { cookie: accepted.cookie as string, body: { name } });
  expect((await rename("Ada King")).json.user.name).toBe("Ada King");
  expect((await rename(null)).json.user).toMatchObject({ name: null, notify: true });
  expect((await rename(null)).status).toBe(200);
  const { people } = (await nodes.send("GET", "/v1/people", { cookie })).json;
  expect(people.find((each: { user_id: string }) => each.user_id === user_id)).toMatchObject({ name: null });
  const { audit } = (await nodes.send("GET", "/v1/audit?type=user_name_changed", { cookie })).json;
  expect(audit.map(({ data }: { data: object }) => data)).toEqual([
    { user_id, from: "Ada King", to: null, by: "session" },
    { user_id, from: "Ada Lovelace", to: "Ada King", by: "session" },
  ]);
});

test("a name is no address, is not empty, and is not too long", async () => {
  const { cookie } = await nodes.signedUp();
  for (const name of ["eve@example.com", "", "  ", "a".repeat(129)]) {
    expect((await nodes.send("PATCH", "/v1/auth/profile", { cookie, body: { name } })).status, name).toBe(400);
    const body = { email: "new@example.com", role: "reviewer", name };
    expect((await nodes.send("POST", "/v1/auth/invitations", { cookie, body })).status, name).toBe(400);
  }
});
