/** Filters and own headers of webhooks. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
const { url } = await webhookNode(database);
const newOrg = () => webhookOrganization(database, url);
const hook = "https://hooks.example.com/x";
const intent = { agent: { id: "agent-1" }, action: { type: "communication.email", verb: "send_email" } };

test("a webhook gets only events of its modes and membranes, and one without filters gets all", async () => {
  const org = await newOrg();
  const post = (path: string, body: unknown) => call(url, "POST", path, { key: org.api_key, body });
  const { membrane } = (await post("/v1/membranes", { name: "Payments" })).json;
  const receiver = await testReceiver();
  const register = (path: string, filters: object) => org.register(`${receiver.url}${path}`, filters);
  await register("?all", {});
  await register("?test", { modes: ["test"] });
  await register("?payments", { membrane_ids: [membrane.membrane_id] });
  await register("?both", { modes: ["test"], membrane_ids: [membrane.membrane_id] });
  const keys = {
    test: (await org.key({ environment: "test" })).api_key,
    shadow: (await org.key({ environment: "shadow" })).api_key,
  };
  const submit = async (environment: keyof typeof keys, where: object) => {
    const about = { key: keys[environment], body: { intent, ...where } };
    return (await call(url, "POST", "/v1/intents", about)).json.intent_id;
  };
  const payments = { membrane_id: membrane.membrane_id };
  const plain = await submit("test", {});
  const shadow = await submit("shadow", payments);
  const both = await submit("test", payments);
  await expect.poll(() => receiver.received.length).toBe(8);
  const got = (path: string) =>
    receiver.received
      .filter((each) => each.path.endsWith(path))
      .map((each) => JSON.parse(each.body).intent_id)
      .sort();
  expect(got("?all")).toEqual([plain, shadow, both].sort());
  expect(got("?test")).toEqual([plain, both].sort());
  expect(got("?payments")).toEqual([shadow, both].sort());
  expect(got("?both")).toEqual([both]);
});

test("own headers go with every delivery, no answer shows their values, and *** keeps a value", async () => {
  const org = await newOrg();
  const receiver = await testReceiver();
  const { id } = await org.register(receiver.url, { headers: { Authorization: "Bearer s3cret-t0ken", "X-Team": "a" } });
  await org.submit();
  await expect.poll(() => receiver.received.length).toBe(1);
  expect(receiver.received[0]?.headers).toMatchObject({ authorization: "Bearer s3cret-t0ken", "x-team": "a" });
  const shown = await org.api("GET", `/${id}`);
  expect(shown.json.webhook.headers).toEqual({ authorization: "***", "x-team": "***" });
  const changed = await org.api("PATCH", `/${id}`, { headers: { authorization: "***", "x-new": "b" } });
  expect(changed.json.webhook.headers).toEqual({ authorization: "***", "x-new": "***" });
  await org.submit();
  await expect.poll(() => receiver.received.length).toBe(2);
  expect(receiver.received[1]?.headers).toMatchObject({ authorization: "Bearer s3cret-t0ken", "x-new": "b" });
  expect(receiver.received[1]?.headers["x-team"]).toBeUndefined();
  const stored = await database.db.query(
    "select w.*::text, l.data::text from webhooks w, ledger l where w.org_id = $1 and l.org_id = $1",
    [org.org_id],
  );
  expect(JSON.stringify(stored)).not.toContain("s3cret-t0ken");
});

test.each<[string, object, number, string]>([
  [
    "a header that the service sets",
    { headers: { "X-Service-Signature": "sha256=0" } },
    400,
    "/headers/X-Service-Signature",
  ],
  ["a line end in a header", { headers: { "X-A": "1\r\nX-B: 2" } }, 400, "/headers/X-A"],
  ["a mask without a value", { headers: { "X-A": "***" } }, 400, "/headers/X-A"],
  [
    "eleven headers",
    { headers: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`x-${n}`, "1"])) },
    400,
    "/headers",
  ],
  ["a mode that does not exist", { modes: ["dry"] }, 400, "/modes/0"],
  ["no mode", { modes: [] }, 400, "/modes"],
  ["a membrane that does not exist", { membrane_ids: ["mem_nope"] }, 404, "/membrane_ids/0"],
  ["a pause after no failure", { pause_after_failures: 0 }, 400, "/pause_after_failures"],
])("%s is refused at registration and change", async (_title, settings, status, path) => {
  const org = await newOrg();
  const { id } = await org.register(hook);
  for (const answer of [
    await org.api("POST", "", { url: hook, ...settings }),
    await org.api("PATCH", `/${id}`, settings),
  ]) {
    expect(answer.status).toBe(status);
    expect(answer.json.error.details[0].path).toBe(path);
  }
});
