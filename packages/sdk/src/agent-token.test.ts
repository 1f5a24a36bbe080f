import { expect, test } from "vitest";
import { createClient } from "./index.ts";
import { json, serve } from "./testing/serve.ts";

const submission = { intent: { agent: { id: "a" }, action: { verb: "send_money" } } };

test("a submission carries the agent's token, which is asked for again before each attempt; other calls carry none", async () => {
  let tokens = 0;
  const { base_url, received } = await serve(
    json(503, { error: { code: "unavailable", message: "", details: [], request_id: "r" } }, { "retry-after": "1" }),
    json(201, { intent_id: "int_1" }),
    json(200, { results: [], total: 0, succeeded: 0, failed: 0 }),
    json(200, { usage: {} }),
  );
  const agent_token = async () => `token-${++tokens}\n`;
  const client = createClient({ base_url, agent_token, wait: async () => undefined });
  await client.submitIntent(submission);
  await client.submitIntentBatch([]);
  await client.getUsage();
  expect(received.map(({ headers }) => headers["agent-token"])).toEqual(["token-1", "token-2", "token-3", undefined]);
});

test.each(["", "two words", "Grüße"])(
  "an agent token that no header can hold is not sent and not quoted: %j",
  async (text) => {
    const { base_url, received } = await serve(json(201, {}));
    const client = createClient({ base_url, agent_token: text });
    const error = await client.submitIntent(submission).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(TypeError);
    if (text !== "") expect((error as Error).message).not.toContain(text);
    expect(received).toEqual([]);
  },
);
