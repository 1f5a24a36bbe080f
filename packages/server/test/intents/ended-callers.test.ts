/** Running requests of a revoked key or ended session leave nothing behind. */

import { request } from "node:http";
import { domain_record_prefix } from "@countersign/contract";
import { beforeAll, describe, expect, test } from "vitest";
import { registerContextSource, removeContextSource } from "../../src/operations/context/context-source.ts";
import { deleteContext, putContext } from "../../src/operations/context/stored-context.ts";
import { createKey } from "../../src/operations/keys/create-key.ts";
import { revokeKey } from "../../src/operations/keys/revoke-key.ts";
import { goLive } from "../../src/operations/membranes/go-live.ts";
import { changeMembrane, createMembrane } from "../../src/operations/membranes/membranes.ts";
import { returnToShadow } from "../../src/operations/membranes/return-to-shadow.ts";
import { changeSettings } from "../../src/operations/organizations/organization-settings.ts";
import { revokeInvitation } from "../../src/operations/people/invitations.ts";
import { changeProfile, changeRole, removePerson } from "../../src/operations/people/people.ts";
import { putSingleSignOn, removeSingleSignOn } from "../../src/operations/people/single-sign-on.ts";
import { activatePolicy, replacePolicy } from "../../src/operations/policies/change-policy.ts";
import { createPolicy } from "../../src/operations/policies/create-policy.ts";
import type { Runtime } from "../../src/operations/runtime.ts";
import type { Caller } from "../../src/operations/shared/caller.ts";
import { changeWebhook } from "../../src/operations/webhooks/change-webhook.ts";
import { deleteWebhook } from "../../src/operations/webhooks/delete-webhook.ts";
import { registerWebhook } from "../../src/operations/webhooks/register-webhook.ts";
import { rotateWebhookSecret } from "../../src/operations/webhooks/rotate-webhook-secret.ts";
import type { Clock } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { peopleNodes } from "../../src/testing/nodes/people-nodes.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { sideBySide } from "../../src/testing/side-by-side.ts";

const database = await testDatabase();
let offset_us = 0;
const clock: Clock = { now_us: () => Date.now() * 1000 + offset_us };
let nodes: Awaited<ReturnType<typeof peopleNodes>>;
let node: Awaited<ReturnType<typeof serviceNode>>;
beforeAll(async () => {
  nodes = await peopleNodes(database);
  node = await serviceNode(database, { ...nodes.parts, clock });
});

const policy = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "theirs" },
  spec: { match: { actions: ["*"] }, when: "true", effect: "none", risk: { add: 0.1, group: "g" }, message: "m" },
};
const url = "https://receiver.example.com/";
/** Stubs that accept everything, like an attacker's own provider and DNS. */
const outside = {
  httpOut: { check: async (href: string) => ({ href }) },
  openId: { begin: async () => ({ location: "https://idp.example.com/" }) },
} as unknown as Runtime;

const provenFor = (org_id: string) => ({ read: async () => [`${domain_record_prefix}${org_id}`] });

interface Theirs {
  readonly membrane_id: string;
  readonly policy_id: string;
  readonly webhook_id: string;
  readonly key_id: string;
  readonly user_id: string;
  readonly invitation_id: string;
}
const operations: Record<string, (runtime: Runtime, caller: Caller, of: Theirs) => Promise<unknown>> = {
  createKey: (runtime, caller) => createKey(runtime, caller, { role: "admin" }),
  revokeKey: (runtime, caller, { key_id }) => revokeKey(runtime, caller, key_id),
  changeRole: (runtime, caller, { user_id }) => changeRole(runtime, caller, user_id, "admin"),
  removePerson: (runtime, caller, { user_id }) => removePerson(runtime, caller, user_id),
  putSingleSignOn: (runtime, caller) =>
    putSingleSignOn({ ...runtime, ...outside, txtRecords: provenFor(caller.org_id) }, caller, {
      issuer: "https://idp.example.com/",
      client_id: "theirs",
      client_secret: "theirs",
      email_domains: ["example.com"],
      default_role: "operator",
    }),
  registerWebhook: (runtime, caller) => registerWebhook({ ...runtime, ...outside }, caller, { url }),
  changeWebhook: (runtime, caller, { webhook_id }) =>
    changeWebhook({ ...runtime, ...outside }, caller, webhook_id, { url }),
  rotateWebhookSecret: (runtime, caller, { webhook_id }) => rotateWebhookSecret(runtime, caller, webhook_id),
  deleteWebhook: (runtime, caller, { webhook_id }) => deleteWebhook(runtime, caller, webhook_id),
  removeSingleSignOn: (runtime, caller) => removeSingleSignOn(runtime, caller),
  revokeInvitation: (runtime, caller, { invitation_id }) => revokeInvitation(runtime, caller, invitation_id),
  removeContextSource: (runtime, caller) => removeContextSource(runtime, caller),
  registerContextSource: (runtime, caller) => registerContextSource({ ...runtime, ...outside }, caller, { url }),
  putContext: (runtime, caller) =>
    putContext(
      runtime,
      caller,
      { scope: "org" },
      { contract_version: "1", facts: { security: { siem_ref: "theirs" } } },
    ),
  deleteContext: (runtime, caller) => deleteContext(runtime, caller, { scope: "org" }),
  createMembrane: (runtime, caller) => createMembrane(runtime, caller, { name: "theirs" }, undefined),
  changeMembrane: (runtime, caller, { membrane_id }) => changeMembrane(runtime, caller, membrane_id, { packs: [] }),
  goLive: (runtime, caller, { membrane_id }) => goLive(runtime, caller, membrane_id, {}, []),
  returnToShadow: (runtime, caller, { membrane_id }) => returnToShadow(runtime, caller, membrane_id, { reason: "r" }),
  changeSettings: (runtime, caller) => changeSettings(runtime, caller, { go_live_needs_second_person: false }),
  createPolicy: (runtime, caller) =>
    createPolicy(runtime, caller, { policy: { ...policy, metadata: { name: "another" } } }),
  replacePolicy: (runtime, caller, { policy_id }) =>
    replacePolicy(runtime, caller, policy_id, {
      policy: { ...policy, spec: { ...policy.spec, effect: "block" } },
    }),
  activatePolicy: (runtime, caller, { policy_id }) => activatePolicy(runtime, caller, policy_id, { mode: "live" }),
};

/** An organization with one thing of each kind, its admin, and a second admin already past the gate. */
async function underWay() {
  const admin = await nodes.signedUp();
  const { cookie } = admin;
  const { org_id } = admin.session;
  const made = async (path: string, body: object) => (await nodes.send("POST", path, { cookie, body })).json;
  const [victim, former] = [await nodes.joined(cookie, "reviewer"), await nodes.joined(cookie, "admin")];
  const key = await made("/v1/api-keys", { role: "admin" });
  const theirs: Theirs = {
    membrane_id: (await nodes.send("GET", "/v1/membranes", { cookie })).json.membranes[0].membrane_id,
    policy_id: (await made("/v1/policies", { policy })).policy.policy_id,
    webhook_id: (await made("/v1/escalations/webhooks", { url: "https://1.1.1.1/" })).webhook.id,
    key_id: (await made("/v1/api-keys", { role: "admin" })).key_id,
    user_id: victim.user_id,
    invitation_id: (
      await made("/v1/auth/invitations", {
        email: `asked-${admin.session.session_id.toLowerCase()}@example.com`,
        role: "reviewer",
      })
    ).invitation.invitation_id,
  };
  const { session } = (await nodes.send("GET", "/v1/auth/session", { cookie: former.cookie })).json;
  const unbound = { org_id, bindings: null, auth_epoch: 0 };
  const usual = { ...unbound, role: "admin", scope: "org", agent_id: null, environment: "live" } as const;
  const by_key: Caller = {
    ...usual,
    key_id: key.key_id,
    user_id: null,
    session_id: null,
    lineage_id: key.key_id,
    actor: key.key_id,
  };
  const { user_id } = former;
  const { session_id } = session;
  const by_person: Caller = { ...usual, key_id: null, user_id, session_id, lineage_id: user_id, actor: user_id };
  const trail = async () => (await nodes.send("GET", "/v1/audit?limit=1", { cookie })).json.audit[0].seq as number;
  return { cookie, key, former, theirs, by_key, by_person, trail };
}

describe("nothing lasting is created after the answer that ended the caller", () => {
  test("by a revoked key or a removed person, in any operation that writes", async () => {
    const { cookie, key, former, theirs, by_key, by_person, trail } = await underWay();
    for (const path of [`/v1/api-keys/${key.key_id}`, `/v1/people/${former.user_id}`])
      expect((await nodes.send("DELETE", path, { cookie })).status).toBe(204);
    const before = await trail();
    // All operations fail, so they find the organization unchanged.
    const code = (operating: Promise<unknown>) =>
      operating.then(
        () => "done",
        (error) => error.code ?? error,
      );
    const seen = await sideBySide(Object.entries(operations), async ([id, operate]) => [
      id,
      await code(operate(node.runtime, by_key, theirs)),
      await code(operate(node.runtime, by_person, theirs)),
    ]);
    expect(seen).toEqual(Object.keys(operations).map((id) => [id, "invalid_api_key", "missing_api_key"]));
    expect(await trail()).toBe(before);
  });

  test("an ended session changes no setting of mails about reviews", async () => {
    const { former, by_person, trail } = await underWay();
    expect((await nodes.send("DELETE", "/v1/auth/sessions", { cookie: former.cookie })).status).toBe(204);
    const before = await trail();
    const changed = changeProfile(node.runtime, by_person, { notify: false });
    await expect(changed).rejects.toMatchObject({ code: "missing_api_key" });
    expect(await trail()).toBe(before);
  });

  test("of two admins who remove each other at once, one stays", async () => {
    const admin = await nodes.signedUp();
    const others = [await nodes.joined(admin.cookie, "admin"), await nodes.joined(admin.cookie, "admin")] as const;
    const remove = (cookie: string, user_id: string, base: string) =>
      nodes.send("DELETE", `/v1/people/${user_id}`, { cookie }, base);
    const answers = await Promise.all([
      remove(others[0].cookie, others[1].user_id, nodes.url),
      remove(others[1].cookie, others[0].user_id, nodes.other),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401]);
  });
});

test("a key revoked while its request's body is arriving creates nothing", async () => {
  const org = await testOrganization(database.db);
  const [admin, former] = [await org.key(), await org.key({ role: "operator" })];
  const body = JSON.stringify({ contract_version: "1", facts: { security: { active_security_incident: false } } });
  const length = Buffer.byteLength(body);
  const headers = { "X-API-Key": former.api_key, "Content-Type": "application/json", "Content-Length": length };
  const sending = request(`${node.url}/v1/context/org`, { method: "PUT", headers });
  const answered = new Promise<number>((resolve, reject) => {
    sending.on("response", (answer) => resolve(answer.resume().statusCode ?? 0)).on("error", reject);
  });
  sending.write(body.slice(0, 1));
  // Later requests have passed the gate, so the earlier request has, too.
  for (let n = 0; n < 3; n++) expect((await call(node.url, "GET", "/v1/me", { key: former.api_key })).status).toBe(200);
  offset_us += 100_000;
  const path = `/v1/api-keys/${former.key_id}`;
  expect((await call(node.url, "DELETE", path, { key: admin.api_key })).status).toBe(204);
  sending.end(body.slice(1));
  expect(await answered).toBe(401);
  expect((await call(node.url, "GET", "/v1/context/org", { key: admin.api_key })).status).toBe(404);
});
