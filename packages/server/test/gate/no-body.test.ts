/** Operations without a body or parameters refuse them, so that a typo never weakens a request. */
import { operationRows, refusesBody } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const node = await serviceNode(database);
const org = await testOrganization(database.db);
let key = "";
let key_id = "";
beforeAll(async () => {
  ({ api_key: key, key_id } = await org.key());
});

const send = (path: string, body: string | undefined, type = "application/json") =>
  fetch(node.url + path, {
    method: "POST",
    headers: { "X-API-Key": key, ...(body === undefined ? {} : { "Content-Type": type }) },
    ...(body === undefined ? {} : { body }),
  });

test("every operation without a body refuses a field before doing anything", async () => {
  const rows = operationRows.filter(([, operation]) => refusesBody(operation));
  expect(rows.map(([id]) => id)).toEqual(
    expect.arrayContaining(["rotateApiKey", "testWebhook", "retryFailedDeliveries"]),
  );
  for (const [id, { path, auth }] of rows) {
    if (auth === "session") continue;
    const made = path.replace(/\{(\w+)\}/g, (_, name) => (name === "key_id" ? key_id : `x_${"0".repeat(26)}`));
    const answer = await send(made, '{"webhook_id":"wh_x"}');
    const { error } = (await answer.json()) as { error: { code: string; details: object[] } };
    expect([id, answer.status, error.code]).toEqual([id, 400, "invalid_request"]);
    expect(error.details).toEqual([expect.objectContaining({ path: "/webhook_id", code: "unknown_field" })]);
  }
});

test.each([
  ["a list", "[]", "application/json", 400],
  ["a text", '"now"', "application/json", 400],
  ["half an object", "{", "application/json", 400],
  ["a form", "webhook_id=wh_x", "application/x-www-form-urlencoded", 415],
  ["16 KiB and more", `{"a":"${"a".repeat(16_384)}"}`, "application/json", 413],
])("%s is refused, too", async (_name, body, type, status) => {
  expect((await send(`/v1/api-keys/${key_id}/rotate`, body, type)).status).toBe(status);
});

test.each([
  ["nothing", undefined, undefined],
  ["an empty object", "{}", "application/json"],
  ["null", "null", "application/json"],
  ["an empty form", "", "application/x-www-form-urlencoded"],
])("%s counts as empty, and is accepted", async (_name, body, type) => {
  const answer = await send(`/v1/api-keys/${key_id}/rotate`, body, type);
  expect(answer.status).toBe(200);
  ({ api_key: key, key_id } = (await answer.json()) as { api_key: string; key_id: string });
});
