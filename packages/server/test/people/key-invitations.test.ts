import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { type TestOrganization, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { password, peopleNodes } from "../../src/testing/nodes/people-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
let org: TestOrganization;
beforeAll(async () => {
  nodes = await peopleNodes(database);
});
beforeEach(async () => {
  org = await testOrganization(database.db);
});

/** Invites a new address with a key. Returns the address and the mailed token. */
async function invited(key: string) {
  const email = nodes.newAddress();
  const answer = await nodes.send("POST", "/v1/auth/invitations", { key, body: { email, role: "admin" } });
  expect(answer.status).toBe(201);
  const { invitation_id } = answer.json.invitation as { invitation_id: string };
  return { email, invitation_id, token: await nodes.mailed(email, /^Join/) };
}
const accept = (token: string, base = nodes.url) =>
  nodes.send("POST", "/v1/auth/invitations/accept", { body: { token, password } }, base);
const rotate = async (key_id: string, key: string) =>
  (await nodes.send("POST", `/v1/api-keys/${key_id}/rotate`, { key })).json as { key_id: string; api_key: string };

describe("a key that is revoked", () => {
  test("ends its invitations on every node, with an audit row for each; others' stay", async () => {
    const [admin, former] = [await org.key(), await org.key()];
    const [one, two, others] = [
      await invited(former.api_key),
      await invited(former.api_key),
      await invited(admin.api_key),
    ];
    const path = `/v1/api-keys/${former.key_id}`;
    expect((await nodes.send("DELETE", path, { key: admin.api_key })).status).toBe(204);
    expect((await accept(one.token)).code).toBe("not_found");
    expect((await accept(two.token, nodes.other)).code).toBe("not_found");
    const open = await nodes.send("GET", "/v1/auth/invitations", { key: admin.api_key });
    expect(open.json.invitations).toMatchObject([{ invitation_id: others.invitation_id }]);
    const trail = await nodes.send("GET", "/v1/audit?limit=3", { key: admin.api_key });
    const actor = { type: "key", id: admin.key_id };
    const withdrawn = ({ email, invitation_id }: typeof one) => ({
      type: "invitation_revoked",
      actor,
      data: { email, invitation_id },
    });
    expect(trail.json.audit).toHaveLength(3);
    expect(trail.json.audit).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "key_revoked", actor }),
        expect.objectContaining(withdrawn(one)),
        expect.objectContaining(withdrawn(two)),
      ]),
    );
    expect((await accept(others.token)).status).toBe(200);
  });

  test("also ends those of the keys that it replaced, which a rotation leaves open", async () => {
    const admin = await org.key();
    const first = await org.key();
    const oldest = await invited(first.api_key);
    const used = await invited(first.api_key);
    const second = await rotate(first.key_id, first.api_key);
    const older = await invited(second.api_key);
    const third = await rotate(second.key_id, second.api_key);
    const own = await invited(third.api_key);
    expect((await accept(used.token)).status).toBe(200);
    // An already revoked key in the chain changes nothing.
    expect((await nodes.send("DELETE", `/v1/api-keys/${first.key_id}`, { key: admin.api_key })).status).toBe(204);
    const open = async () =>
      (await nodes.send("GET", "/v1/auth/invitations", { key: admin.api_key })).json.invitations.map(
        ({ email }: { email: string }) => email,
      );
    expect(await open()).toEqual([own.email, older.email, oldest.email]);
    expect((await nodes.send("DELETE", `/v1/api-keys/${third.key_id}`, { key: admin.api_key })).status).toBe(204);
    expect(await open()).toEqual([]);
    for (const { token } of [oldest, older, own]) expect((await accept(token)).code).toBe("not_found");
  });

  test("leaves another organization's invitations alone", async () => {
    const stranger = await testOrganization(database.db);
    const theirs = await invited((await stranger.key()).api_key);
    const [admin, former] = [await org.key(), await org.key()];
    expect((await nodes.send("DELETE", `/v1/api-keys/${former.key_id}`, { key: admin.api_key })).status).toBe(204);
    expect((await accept(theirs.token)).json.session.org_id).toBe(stranger.org_id);
  });

  test("sends none during the revocation", async () => {
    const [admin, former] = [await org.key(), await org.key()];
    const email = nodes.newAddress();
    let sending: ReturnType<typeof nodes.send> | undefined;
    await database.db.system(async (query) => {
      await query("select from org_heads where org_id = $1 for update", [org.org_id]);
      const [me] = await query<{ pid: number }>("select pg_backend_pid() as pid");
      sending = nodes.send("POST", "/v1/auth/invitations", { key: former.api_key, body: { email, role: "admin" } });
      const waiting = "select from pg_locks where not granted and $1::integer = any(pg_blocking_pids(pid))";
      await expect.poll(async () => (await database.db.query(waiting, [me?.pid])).length).toBeGreaterThan(0);
      // Imitates a revocation that locked the head first.
      await query("update api_keys set revoked_at = now() where key_id = $1", [former.key_id]);
    });
    expect((await sending)?.code).toBe("invalid_api_key");
    expect((await nodes.send("GET", "/v1/auth/invitations", { key: admin.api_key })).json.invitations).toEqual([]);
  });
});
