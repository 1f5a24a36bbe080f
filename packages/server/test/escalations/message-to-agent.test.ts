/** Source: decision 0011. */
import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { heldBody, reviewedOrganization } from "../../src/testing/people/review.ts";
import { listen, told } from "../../src/testing/people/told.ts";

const database = await testDatabase();
const { db } = database;
const { url } = await serviceNode(database);
const org = await reviewedOrganization(db, url);

const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });

async function held() {
  const { intent_id, escalation_id } = (await post("/v1/intents", org.agent, heldBody)).json.decision;
  return { intent_id, path: `/v1/escalations/${escalation_id}` };
}

test("the agent gets the message in the decision, and no comments or reasons anywhere", async () => {
  await listen(db, org.org.org_id);
  const { path, intent_id } = await held();
  const [comment, reason, message_to_agent] = ["he is on holiday", "ask the desk", "Use account 2.\nThen ask again."];
  await post(`${path}/reassign`, org.operator, { reviewers: [{ type: "role", id: "reviewer" }], reason });
  const { json } = await post(`${path}/decision`, org.reviewer, { outcome: "block", comment, message_to_agent });
  expect(json.escalation).toMatchObject({ votes: [{ comment, message_to_agent }], resolution: { message_to_agent } });
  const read = async (key: string) => {
    const paths = ["", "/decision", "/audit"].map((part) => `/v1/intents/${intent_id}${part}`);
    const [intent, decision, audit] = await Promise.all(paths.map((each) => call(url, "GET", each, { key })));
    expect(decision?.json.decision).toMatchObject({ outcome: "block", message_to_agent });
    return `${intent?.text}${decision?.text}${audit?.text}`;
  };
  const [to_agent, to_people] = [await read(org.agent), await read(org.reviewer)];
  for (const internal of [comment, reason]) {
    expect(to_agent).not.toContain(internal);
    expect(to_people).toContain(internal);
  }
  const events = await told<{ event_type: string; data: object }>(db, org.org.org_id);
  const ended = events.filter(({ event_type }) => event_type === "escalation.decided");
  expect(ended.map(({ data }) => data)).toEqual([json.escalation]);
});

test.each(["", "\u001b[2J", "a\u202eb", "x".repeat(4_001)])("400 for the message %j", async (message_to_agent) => {
  const { path } = await held();
  const answer = await post(`${path}/decision`, org.reviewer, { outcome: "approve", message_to_agent });
  expect([answer.status, answer.json.error.details[0].path]).toEqual([400, "/message_to_agent"]);
});
