import { createHmac } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { type Received, testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
const { url } = await webhookNode(database);
const newOrg = () => webhookOrganization(database, url);
const until = (count: number, list: readonly unknown[]) => expect.poll(() => list.length, { interval: 20 }).toBe(count);

/** Returns the indexes of the secrets that both signatures match. */
function signedWith({ headers, body }: Received, secrets: readonly string[]): number[] {
  return secrets.flatMap((secret, place) => {
    const own = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` === headers["x-service-signature"];
    let standard = true;
    try {
      new StandardWebhook(secret).verify(body, headers as Record<string, string>);
    } catch {
      standard = false;
    }
    expect(standard).toBe(own);
    return own ? [place] : [];
  });
}

test("a rotation shows the new secret once; afterwards it signs everything, also retries", async () => {
  const org = await newOrg();
  let status = 500;
  const receiver = await testReceiver((response) => response.writeHead(status).end());
  const { id, secret } = await org.register(receiver.url, { event_types: ["decision.approved"], description: "ours" });
  await org.submit();
  await expect.poll(async () => (await org.failed()).length).toBe(1);
  expect(receiver.received.map((each) => signedWith(each, [secret]))).toEqual([[0], [0], [0]]);

  const before = (await org.api("GET", `/${id}`)).json.webhook;
  const rotated = await org.api("POST", `/${id}/rotate-secret`);
  expect(rotated.status).toBe(200);
  const renewed: string = rotated.json.webhook.secret;
  expect(rotated.json.webhook).toEqual({ ...before, secret: renewed });
  expect(Buffer.from(renewed.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
  expect(renewed).not.toBe(secret);
  expect((await org.api("GET", `/${id}`)).json.webhook).toEqual(before);
  expect((await org.api("GET", "")).json.webhooks).toEqual([before]);

  status = 200;
  const [{ delivery_id }] = await org.failed();
  expect((await org.api("POST", `/deliveries/${delivery_id}/retry`)).status).toBe(202);
  await until(4, receiver.received);
  await org.submit();
  await until(5, receiver.received);
  expect(receiver.received.slice(3).map((each) => signedWith(each, [secret, renewed]))).toEqual([[1], [1]]);
});

test("during an overlap the old secret signs X-Service-Signature, and both sign webhook-signature; then the new one signs", async () => {
  const org = await newOrg();
  const receiver = await testReceiver();
  const { id, secret } = await org.register(receiver.url, { event_types: ["decision.approved"] });
  const rotated = await org.api("POST", `/${id}/rotate-secret`, { overlap_seconds: 3_600 });
  const { secret: renewed, secret_overlap_ends_at } = rotated.json.webhook;
  expect(Date.parse(secret_overlap_ends_at)).toBeGreaterThan(Date.now());
  expect((await org.api("GET", `/${id}`)).json.webhook).toMatchObject({ secret: "***", secret_overlap_ends_at });
  await org.submit();
  await until(1, receiver.received);
  const [during] = receiver.received as [Received];
  const own = `sha256=${createHmac("sha256", secret).update(during.body).digest("hex")}`;
  expect(during.headers["x-service-signature"]).toBe(own);
  for (const each of [secret, renewed])
    expect(() => new StandardWebhook(each).verify(during.body, during.headers as Record<string, string>)).not.toThrow();

  const again = await org.api("POST", `/${id}/rotate-secret`, { overlap_seconds: 60 });
  expect([again.status, again.json.error.code]).toEqual([409, "state_conflict"]);
  await database.db.query("update webhooks set overlap_ends_at = now() - interval '1 s' where org_id = $1", [
    org.org_id,
  ]);
  expect((await org.api("GET", `/${id}`)).json.webhook.secret_overlap_ends_at).toBeNull();
  await org.submit();
  await until(2, receiver.received);
  expect(signedWith(receiver.received[1] as Received, [secret, renewed])).toEqual([1]);

  const third = (await org.api("POST", `/${id}/rotate-secret`, { overlap_seconds: 60 })).json.webhook.secret;
  await org.submit();
  await until(3, receiver.received);
  const last = receiver.received[2] as Received;
  expect(last.headers["x-service-signature"]).toBe(
    `sha256=${createHmac("sha256", renewed).update(last.body).digest("hex")}`,
  );
  const leaked = (await org.api("POST", `/${id}/rotate-secret`)).json.webhook;
  expect(leaked.secret_overlap_ends_at).toBeNull();
  await org.submit();
  await until(4, receiver.received);
  expect(signedWith(receiver.received[3] as Received, [secret, renewed, third, leaked.secret])).toEqual([3]);
});

test("each rotation gives a new secret, is audited without it, and makes no decision stale", async () => {
  const org = await newOrg();
  const { id, secret } = await org.register("https://hooks.example.com/x");
  const epochs = () =>
    database.db.query("select policy_epoch, auth_epoch from org_heads where org_id = $1", [org.org_id]);
  const before = await epochs();
  const secrets = [secret];
  for (let n = 0; n < 2; n += 1) secrets.push((await org.api("POST", `/${id}/rotate-secret`)).json.webhook.secret);
  expect(new Set(secrets).size).toBe(3);
  expect(await epochs()).toEqual(before);
  const { json } = await call(url, "GET", "/v1/audit?type=webhook_secret_rotated", { key: org.api_key });
  const entry = { data: { webhook_id: id }, actor: { type: "key", id: org.key_id } };
  expect(json.audit).toMatchObject([entry, entry]);
  const stored = await database.db.query("select secret_sealed from webhooks where org_id = $1", [org.org_id]);
  for (const each of secrets) expect(JSON.stringify([json, stored])).not.toContain(each.slice(6));
});

test("only admins may rotate secrets, of their own webhooks: 403, 401 and 404 change nothing", async () => {
  const [org, other] = [await newOrg(), await newOrg()];
  const { id } = await org.register("https://hooks.example.com/x");
  const sealed = () => database.db.query("select secret_sealed from webhooks where org_id = $1", [org.org_id]);
  const before = await sealed();
  for (const role of ["operator", "reviewer", "auditor", "agent"] as const) {
    const { api_key } = await org.key({ role });
    expect((await org.api("POST", `/${id}/rotate-secret`, undefined, api_key)).status, role).toBe(403);
  }
  expect((await call(url, "POST", `/v1/escalations/webhooks/${id}/rotate-secret`)).status).toBe(401);
  for (const [api, webhook_id] of [
    [other.api, id],
    [org.api, "wh_00000000000000000000000000"],
  ] as const)
    expect((await api("POST", `/${webhook_id}/rotate-secret`)).json.error.code).toBe("not_found");
  expect(await sealed()).toEqual(before);
});
