import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("allowing similar actions", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("a reviewer allows similar actions of a held one, and an operator revokes that", {
    timeout: test_timeout_ms,
  }, async () => {
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "held-orders" },
      spec: {
        match: { verbs: ["order"] },
        when: "true",
        effect: "escalate",
        escalation: { grants: { times_max: 5, hours_max: 24 } },
      },
    };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
      policy,
    });
    await api(console_.url, seeded.admin, "POST", `/v1/policies/${saved.policy.policy_id}/activate`, { mode: "live" });
    const order = (units: number) => ({
      intent: {
        agent: { id: "bot-9" },
        action: { type: "other.order", verb: "order", target: { identifier: "acme" } },
        payload: { content: { units } },
      },
    });
    const held = await submit(console_.url, seeded.agent, order(40));
    expect(held.decision.verdict).toBe("escalate");
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${held.intent_id}`);
    await page.getByRole("button", { name: "Allow similar actions…" }).click();
    await page.getByLabel("/units at most").fill("50");
    await page.getByLabel("Times").fill("2");
    await page.getByLabel("Reason").fill("The usual order");
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("Similar actions allowed in advance").waitFor();
    const passed = await submit(console_.url, seeded.agent, order(50));
    expect(passed.decision.verdict).toBe("approve");
    expect((await submit(console_.url, seeded.agent, order(51))).decision.verdict).toBe("escalate");
    await page.goto(`/decisions/${passed.intent_id}`);
    await page.getByText("allowed in advance by grant").waitFor();
    await page.getByRole("link", { name: "Grants" }).click();
    await page.getByRole("cell", { name: "1 of 2" }).waitFor();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("cell", { name: "revoked" }).waitFor();
    expect((await submit(console_.url, seeded.agent, order(50))).decision.verdict).toBe("escalate");
    expect(wrongs).toEqual([]);
  });
});
