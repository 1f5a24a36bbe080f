/** Calls of several rounds, and calls that wait for people, with the service: across restarts and several proxies. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { beginCli } from "../../packages/cli/src/testing/run-cli.ts";
import { createClient } from "../../packages/sdk/src/index.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { activatePayPolicy, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });
const admin = createClient({ base_url: url, api_key: org.admin });
const reviewer = createClient({ base_url: url, api_key: org.reviewer });
await activatePayPolicy(url, org, "people-look", { when: "params.amount_usd > 100.0", escalation: {} });

const folder = mkdtempSync(join(tmpdir(), "countersign-mcp-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const done_file = join(folder, "done");
const done = (): unknown[] =>
  readFileSync(done_file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const server = [process.execPath, join(import.meta.dirname, "rounds-server.mjs"), done_file];

/** Starts a proxy with its own server, and connects the protocol's own client of revision 2026-07-28. */
async function proxy({ wait = "60", key = org.agent, page = false } = {}) {
  writeFileSync(done_file, "");
  const output = new PassThrough();
  const args = ["mcp", "--url", url, "--agent", "desk", "--wait", wait, "--", ...server];
  const cli = beginCli(args, { COUNTERSIGN_API_KEY: key }, output);
  const client = new Client(
    { name: "desk", version: "1.0.0" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: page ? { form: {}, url: {} } : { form: {} } },
    },
  );
  const shown: unknown[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    shown.push(params);
    return params.mode === "url" ? { action: "accept" } : { action: "accept", content: { account: "A" } };
  });
  const close = async () => {
    await client.close();
    cli.stdin.end();
    await cli.finished;
  };
  onTestFinished(close);
  await client.connect(new StdioServerTransport(output, cli.stdin));
  const pay = async (given: object) => {
    const { content, isError } = await client.callTool({ name: "pay", arguments: { ...given } });
    return { text: (content as { text: string }[])[0]?.text, failed: isError === true };
  };
  return { client, shown, close, pay };
}

const intents = async () => (await admin.listIntents({ limit: 200 })).intents;
const reviews = async () => (await reviewer.listEscalations({ status: "pending" })).escalations;
/** An action joins the review of an equal one only after the wait of that one. */
const awaited = () =>
  database.db.system((query) => query("select escalation_id from review_waits where until > clock_timestamp()"));
const approve = async () => {
  await expect.poll(reviews).toHaveLength(1);
  await reviewer.decideEscalation((await reviews())[0]?.escalation_id ?? "", { outcome: "approve" });
};
const happened = async (intent_id = "") =>
  (await admin.listIntentAudit(intent_id)).audit
    .filter(({ type }) => type === "claimed" || type === "observed")
    .map(({ type, data }) => (data as { status?: string }).status ?? type);

test("a call of two rounds is one intent, one review, one claim and one outcome", async () => {
  const { pay, shown } = await proxy({ page: true });
  const before = (await intents()).length;
  const paying = pay({ amount_usd: 300, to: "ann" });
  await approve();
  expect(await paying).toEqual({ text: "paid 300", failed: false });
  expect(done()).toEqual([{ amount_usd: 300, to: "ann", account: "A", state: "asked" }]);
  expect(shown).toMatchObject([
    { mode: "url", url: expect.stringContaining(`${url}/escalations/esc_`) },
    { message: "From which account?" },
  ]);
  const [intent, ...others] = await intents();
  expect(others).toHaveLength(before);
  await expect.poll(() => happened(intent?.intent_id)).toEqual(["claimed", "executed"]);
});

test("a round goes on in another proxy, with the arguments in another order, and once", async () => {
  const first = await proxy();
  const asked = await first.client.callTool(
    { name: "pay", arguments: { amount_usd: 5, to: "ann" } },
    { allowInputRequired: true },
  );
  await first.close();
  const { requestState } = asked as unknown as { requestState: string };
  const [one, two] = [await proxy(), await proxy()];
  const again = ({ client }: typeof one) =>
    client.callTool({
      ...{ name: "pay", arguments: { to: "ann", amount_usd: 5 }, requestState },
      inputResponses: { account: { action: "accept", content: { account: "A" } } },
    } as never);
  const answers = await Promise.all([again(one), again(two)]);
  expect(answers.filter(({ isError }) => isError)).toMatchObject([
    { content: [{ text: expect.stringContaining("This round was made before") }] },
  ]);
  expect(done()).toHaveLength(1);
  await expect.poll(async () => happened((await intents())[0]?.intent_id)).toEqual(["claimed", "executed"]);
});

test("a repeated call resumes its review after a restart, and one approval serves one of two proxies", async () => {
  const first = await proxy({ wait: "1" });
  const call_again = { failed: true, text: expect.stringContaining("Call the tool again") };
  expect(await first.pay({ amount_usd: 400, to: "ann" })).toEqual(call_again);
  await first.close();
  const [one, two] = [await proxy({ wait: "1" }), await proxy({ wait: "1" })];
  await expect.poll(awaited).toEqual([]);
  expect(await one.pay({ to: "ann", amount_usd: 400 })).toEqual(call_again);
  await expect.poll(awaited).toEqual([]);
  expect(await two.pay({ amount_usd: 400, to: "ann" })).toEqual(call_again);
  await approve();
  const answers = await Promise.all([one, two].map(({ pay }) => pay({ amount_usd: 400, to: "ann" })));
  expect(answers.filter(({ failed }) => !failed)).toEqual([{ failed: false, text: "paid 400" }]);
  expect(done()).toHaveLength(1);
  for (const { escalation_id } of await reviews()) await reviewer.decideEscalation(escalation_id, { outcome: "block" });
});

test("a key that is revoked during a review, and arguments beyond the limit, make no call and say why", async () => {
  const { key_id, api_key } = (await admin.createApiKey({ role: "agent" })) as unknown as Record<string, string>;
  const { pay } = await proxy({ key: api_key ?? "", wait: "1" });
  expect((await pay({ amount_usd: 500, to: "ann" })).text).toContain("Call the tool again");
  await admin.revokeApiKey(key_id ?? "");
  expect(await pay({ amount_usd: 500, to: "ann" })).toEqual({
    ...{ failed: true, text: expect.stringMatching(/Not decided, so nothing was done.*invalid_api_key/) },
  });
  const large = await proxy();
  expect(await large.pay({ amount_usd: 5, to: "x".repeat(10_000_000) })).toEqual({
    failed: true,
    text: expect.stringMatching(/Not decided, so nothing was done.*payload_too_large/),
  });
  expect(done()).toEqual([]);
});
