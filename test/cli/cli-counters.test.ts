import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);

test("counters grant and reset change one key, and the list shows a request for two people", async () => {
  const of = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "approve" });
  const counter = { key: ["agent.id", "params.account"], value: "params.amount", window: "24h" };
  const counters = [
    { ...counter, name: "spent" },
    { ...counter, name: "paid", adjust: "two_person" },
  ];
  const spec = { match: { verbs: ["pay"] }, counters, when: "false", effect: "block" };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "limit" }, spec };
  const created = (await call(url, "POST", "/v1/policies", { key: of.admin, body: { policy } })).json;
  const path = `/v1/policies/${created.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: of.admin, body: { mode: "live" } })).status).toBe(200);
  const payload = { content: { account: 4711, amount: 900 } };
  const intent = { agent: { id: "bot" }, action: { verb: "pay" }, payload };
  expect((await call(url, "POST", "/v1/intents", { key: of.agent, body: { intent } })).json.decision.verdict).toBe(
    "approve",
  );

  const run = (...args: string[]) => runCli(["counters", ...args, "--url", url], { COUNTERSIGN_API_KEY: of.operator });
  const why = ["--reason", "end of quarter"];
  const granted = await run("grant", "spent", '["Bot", 4711]', "--amount", "100.5", "--actions", "2", ...why);
  expect(granted.stdout).toBe(
    "spent of bot, 4711 has more; 1 action counts, with the sum 900; granted: 2 actions and the amount 100.5\n",
  );
  const reset = await run("reset", "spent", '["bot", 4711]', ...why);
  expect(reset.stdout).toBe("spent of bot, 4711 was reset; 0 actions count, with the sum 0\n");
  const asked = await run("grant", "paid", '["bot", 4711]', "--amount", "5", ...why);
  expect(asked.stdout).toContain("is unchanged: a second, different person must run the same command within 24 hours");
  expect((await run("list", "--name", "paid")).stdout).toMatch(/paid +bot, 4711 +1 +900 .* grant 5 by /);

  for (const wrong of [
    ["grant", "spent", "bot", "--amount", "0", ...why],
    ["grant", "spent", "bot", "--amount", "0.1234567", ...why],
    ["reset", "spent", "[bot", ...why],
    ["reset", "spent", "bot"],
  ])
    expect((await run(...wrong)).code, wrong.join(" ")).not.toBe(0);
});

test("counters list shows the window and the limits of each counter with what is used", async () => {
  const of = await reviewedOrganization(database.db, url, { packs: [], default_verdict: "approve" });
  const spec = {
    match: { verbs: ["pay"] },
    counters: [
      { name: "spent", key: ["agent.id"], value: "params.usd", window: "24h" },
      { name: "payments", key: ["'all'"], window: { calendar: "day" } },
    ],
    when: "count.spent.sum > 5000.0 || count.payments.n > 9",
    effect: "block",
  };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "daily" }, spec };
  const saved = await call(url, "POST", "/v1/policies", { key: of.admin, body: { policy } });
  const path = `/v1/policies/${saved.json.policy.policy_id}/activate`;
  await call(url, "POST", path, { key: of.admin, body: { mode: "live" } });
  const intent = { agent: { id: "Bot" }, action: { verb: "pay" }, payload: { content: { usd: 1200.5 } } };
  const { decision } = (await call(url, "POST", "/v1/intents", { key: of.agent, body: { intent } })).json;
  expect(decision.verdict).toBe("approve");
  const { stdout } = await runCli(["counters", "list", "--url", url], { COUNTERSIGN_API_KEY: of.reviewer });
  const rows = stdout.split("\n").map((line) => line.split(/ {2,}/).slice(0, 8));
  expect(rows.slice(1, 3)).toEqual([
    ["payments", "all", "1", "1", "0", "0", "9 actions (daily)", "day UTC"],
    ["spent", "bot", "1", "1,200.5", "0", "0", "5,000 (daily)", "24h"],
  ]);
});
