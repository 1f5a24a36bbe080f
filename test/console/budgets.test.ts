import { beforeAll, expect, test } from "vitest";
import { sidewaysOf, violationsInBoth } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

const policies = [
  {
    name: "daily-spend",
    mode: "live",
    spec: {
      match: { actions: ["payment.*"] },
      counters: [{ name: "spent", key: ["agent.id"], value: "params.amount_usd", window: "24h" }],
      when: "count.spent.sum > 5000.0",
      effect: "block",
    },
  },
  {
    name: "spend-review",
    mode: "live",
    spec: {
      match: { actions: ["payment.*"] },
      when: "count.spent.sum > vars.most",
      variables: [{ name: "most", expr: "4000.0" }],
      effect: "escalate",
    },
  },
  {
    name: "payments-to-one",
    mode: "shadow",
    spec: {
      match: { actions: ["payment.*"] },
      counters: [
        {
          name: "payments",
          key: ["agent.id", "params.to"],
          window: { calendar: "month", zone: "Europe/Berlin" },
        },
      ],
      when: "count.payments.n > 20",
      effect: "escalate",
    },
  },
] as const;

const pay = (agent: string, amount_usd: number) => ({
  intent: {
    agent: { id: agent },
    action: { type: "payment.transfer", verb: "pay" },
    payload: { content: { amount_usd, to: "Acme" } },
  },
});

inBrowser("budgets", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("show nothing before the first action that counts, and name the guide", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/budgets");
    await page.getByRole("heading", { name: "Nothing counts yet" }).waitFor();
    const guide = page.getByRole("link", { name: "Limit sums, counts and sequences" });
    expect(await guide.getAttribute("href")).toBe("/docs/how-to/limits");
    await page.goto("/budgets?membrane_id=mem_01KAAAAAAAAAAAAAAAAAAAAAAA");
    await page.getByRole("alert").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("show what each agent used, what waits for people and the limits, on their page and on the agent's", {
    timeout: test_timeout_ms,
  }, async () => {
    for (const { name, mode, spec } of policies) {
      const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
      const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
        policy,
      });
      await api(console_.url, seeded.admin, "POST", `/v1/policies/${saved.policy.policy_id}/activate`, { mode });
    }
    const verdicts: string[] = [];
    for (const [agent, amount] of [
      ["Billing-Bot", 3_400],
      ["Billing-Bot", 1_000.5],
      ["Billing-Bot", 900],
      ["other-bot", 10],
    ] as const)
      verdicts.push((await submit(console_.url, seeded.agent, pay(agent, amount))).decision.verdict);
    expect(verdicts).toEqual(["approve", "escalate", "block", "approve"]);

    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto("/");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Budgets" }).click();
    const budgets = page.getByRole("region", { name: "Budgets", exact: true });
    const rowOf = (counter: string, agent: string) =>
      budgets.getByRole("row").filter({ hasText: counter }).filter({ hasText: agent });
    const spent = rowOf("spent", "Billing-Bot");
    await spent.waitFor();
    const cells = await spent.getByRole("cell").allInnerTexts();
    expect(cells.slice(0, 5).map((text) => text.split(/\s*\n\s*/))).toEqual([
      ["spent", "24 hours"],
      ["Billing-Bot"],
      ["4,400.5 of 4,000", "spend-review", "4,400.5 of 5,000", "daily-spend"],
      ["2 actions", "sum 4,400.5"],
      ["1 action", "sum 1,000.5"],
    ]);
    const bars = await spent.getByRole("img").evaluateAll((all) => all.map((bar) => bar.getAttribute("aria-label")));
    expect(bars[1]).toBe("4,400.5 of 5,000 used, 1,000.5 of it waits for people");
    const payments = await rowOf("payments", "other-bot").getByRole("cell").allInnerTexts();
    expect(payments.slice(0, 5).map((text) => text.split(/\s*\n\s*/))).toEqual([
      ["payments", "this month in Europe/Berlin"],
      ["other-bot", "acme"],
      ["1 of 20 actions", "payments-to-one", "shadow"],
      ["1 action"],
      ["–"],
    ]);
    expect(await violationsInBoth(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await sidewaysOf(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });

    await page.getByLabel("Counter", { exact: true }).fill("payments");
    await page.getByLabel("Agent", { exact: true }).fill("BILLING-BOT");
    await page.keyboard.press("Enter");
    await budgets.getByText("1 shown, all").waitFor();
    expect(await rowOf("payments", "Billing-Bot").count()).toBe(1);
    await page.getByLabel("Mode", { exact: true }).selectOption("Test");
    await page.getByRole("heading", { name: "No budget matches" }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await rowOf("spent", "other-bot").getByRole("link", { name: "other-bot" }).click();

    await page.getByRole("heading", { level: 1, name: "other-bot" }).waitFor();
    await budgets.getByText("2 shown, all").waitFor();
    expect(await rowOf("spent", "other-bot").textContent()).toContain("10 of 5,000");
    expect(await violationsInBoth(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
