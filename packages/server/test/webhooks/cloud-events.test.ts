import { HTTP } from "cloudevents";
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
const { url } = await webhookNode(database);

test("the SDK of CloudEvents reads deliveries, and a manual retry as the same event", async () => {
  const answers = { status: 500 };
  const receiver = await testReceiver((response) => response.writeHead(answers.status).end());
  const org = await webhookOrganization(database, url);
  await org.register(receiver.url, { event_types: ["decision.approved", "decision.blocked", "decision.escalated"] });
  const intent_id = await org.submit();
  await expect.poll(org.failed, { timeout: 60_000 }).toHaveLength(1);
  const [{ delivery_id }] = await org.failed();
  answers.status = 200;
  await org.api("POST", `/deliveries/${delivery_id}/retry`);
  await expect.poll(() => receiver.received.length, { timeout: 60_000 }).toBe(4);
  const events = receiver.received.map(({ headers, body }) => HTTP.toEvent({ headers, body }));
  for (const event of events) {
    expect(event).toMatchObject({
      specversion: "1.0",
      id: delivery_id,
      source: `/organizations/${org.org_id}`,
      subject: intent_id,
      datacontenttype: "application/json",
      data: { intent_id, organization_id: org.org_id },
    });
    const { type, time, data } = [event].flat()[0] as unknown as {
      type: string;
      time: string;
      data: { event_type: string; timestamp: string };
    };
    expect([type, new Date(time)]).toEqual([data.event_type, new Date(data.timestamp)]);
  }
});
