import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { in_dialog, sidewaysOf, violationsInBoth } from "./accessibility.ts";
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
          adjust: "two_person",
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

/** Two of four payments count fully, one waits, and one is blocked. */
async function seedBudgets(): Promise<Seeded> {
  const seeded = await seedLive(console_.url);
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
  return seeded;
}

inBrowser("budgets", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedBudgets();
  }, test_timeout_ms);

  const rowOf = (page: Page, counter: string, agent: string) =>
    page
      .getByRole("region", { name: "Budgets", exact: true })
      .getByRole("row")
      .filter({ hasText: counter })
      .filter({ hasText: agent });

  test("show nothing before the first action that counts, and name the guide", {
    timeout: test_timeout_ms,
  }, async () => {
    const { reviewer } = await seedLive(console_.url);
    const { page, wrongs } = await console_.open({ api_key: reviewer });
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
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Budgets" }).click();
    const budgets = page.getByRole("region", { name: "Budgets", exact: true });
    const spent = rowOf(page, "spent", "Billing-Bot");
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
    const payments = await rowOf(page, "payments", "other-bot").getByRole("cell").allInnerTexts();
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
    expect(await rowOf(page, "payments", "Billing-Bot").count()).toBe(1);
    await page.getByLabel("Mode", { exact: true }).selectOption("Test");
    await page.getByRole("heading", { name: "No budget matches" }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await rowOf(page, "spent", "other-bot").getByRole("link", { name: "other-bot" }).click();

    await page.getByRole("heading", { level: 1, name: "other-bot" }).waitFor();
    await budgets.getByText("2 shown, all").waitFor();
    expect(await rowOf(page, "spent", "other-bot").textContent()).toContain("10 of 5,000");
    expect(await violationsInBoth(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("are raised by an operator at once, and reset by two people if the policy says so", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto("/budgets");
    await rowOf(page, "spent", "Billing-Bot").getByRole("button", { name: "Grant more" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("More of the sum").fill("1000.25");
    await dialog.getByLabel("Reason").fill("End of quarter");
    expect(await violationsInBoth(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Grant more" }).click();
    await rowOf(page, "spent", "Billing-Bot").getByText("4,400.5 of 6,000.25").waitFor();
    await rowOf(page, "spent", "Billing-Bot").getByText("1,000.25 granted").waitFor();
    expect((await submit(console_.url, seeded.agent, pay("Billing-Bot", 900))).decision.verdict).toBe("escalate");

    await rowOf(page, "payments", "other-bot").getByRole("button", { name: "Reset" }).click();
    await dialog.getByLabel("Reason").fill("These were tests");
    await dialog.getByRole("button", { name: "Reset this budget" }).click();
    await page.getByText("A second person must confirm", { exact: true }).waitFor();
    await rowOf(page, "payments", "other-bot").getByText("asked to reset it").waitFor();
    expect(await page.getByRole("button", { name: "Confirm" }).count()).toBe(0);
    expect(wrongs).toEqual([]);

    const second = await console_.open({ api_key: seeded.admin });
    await second.page.goto("/agent?id=other-bot");
    const row = rowOf(second.page, "payments", "other-bot");
    await row.getByText("1 of 20 actions").waitFor();
    await row.getByRole("button", { name: "Confirm" }).click();
    await second.page.getByRole("dialog").getByLabel("Reason").fill("Seen");
    await second.page.getByRole("dialog").getByRole("button", { name: "Confirm" }).click();
    await row.getByText("0 of 20 actions").waitFor();
    expect(second.wrongs).toEqual([]);

    const reader = await console_.open({ api_key: seeded.reviewer });
    await reader.page.goto("/budgets");
    await rowOf(reader.page, "spent", "other-bot").waitFor();
    expect(await reader.page.getByRole("button", { name: "Grant more" }).count()).toBe(0);
  });
});
