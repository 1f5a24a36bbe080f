/** Source: docs/decisions/0058. The envelope is that of the workflow "when a Teams webhook request is received". */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { channelNodes } from "../../src/testing/nodes/channel-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof channelNodes>>;
beforeAll(async () => {
  nodes = await channelNodes(database);
});

test("a review appears as an adaptive card with a link, and the answers do not show the workflow's address", async () => {
  const org = await nodes.organization();
  const workflow = await testReceiver((response) => response.writeHead(202).end());
  const webhook_url = `${workflow.url}?sig=secret-of-the-workflow`;
  const put = await org.send("PUT", "/v1/channels/teams", org.admin.cookie, { webhook_url });
  expect(put.status).toBe(200);
  const review = await org.held();
  await expect.poll(() => workflow.received.length, { timeout: 30_000 }).toBe(2);
  const { type, attachments } = JSON.parse(workflow.received[1]?.body ?? "");
  expect([type, attachments[0].contentType]).toEqual(["message", "application/vnd.microsoft.card.adaptive"]);
  const { body, actions, ...card } = attachments[0].content;
  expect(card).toMatchObject({ type: "AdaptiveCard", version: "1.4" });
  const url = expect.stringContaining(`/escalations/${review.id}`);
  expect(actions).toEqual([{ type: "Action.OpenUrl", title: "Open the review", url }]);
  expect(JSON.stringify(body)).toContain("Ship the shop");
  const read = await org.send("GET", "/v1/channels", org.admin.cookie);
  expect(read.json.channels.teams.webhook_host).toBe(new URL(workflow.url).host);
  expect(put.text + read.text).not.toContain("secret-of-the-workflow");
  expect((await org.send("DELETE", "/v1/channels/teams", org.admin.cookie)).status).toBe(204);
  expect((await org.send("DELETE", "/v1/channels/teams", org.admin.cookie)).code).toBe("not_found");
});

test("refuses an address that does not accept the first card, and a private one", async () => {
  const org = await nodes.organization();
  const broken = await testReceiver((response) => response.writeHead(400).end());
  for (const webhook_url of [broken.url, "https://192.168.1.1/flow"]) {
    const { json } = await org.send("PUT", "/v1/channels/teams", org.admin.cookie, { webhook_url });
    expect(json.error).toMatchObject({ code: "invalid_request", details: [{ path: "/webhook_url" }] });
  }
});
