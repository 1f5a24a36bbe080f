import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("approvals", () => {
  test("an operator sees when an unclaimed approval expires, and revokes it", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "asks" },
      spec: { match: { verbs: ["transfer"] }, when: "true", effect: "escalate" },
    };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
      policy,
    });
    const activate = `/v1/policies/${saved.policy.policy_id}/activate`;
    await api(console_.url, seeded.admin, "POST", activate, { mode: "live" });
    const body = { intent: { agent: { id: "bot-9" }, action: { type: "payment.transfer", verb: "transfer" } } };
    const { intent_id, decision } = await submit(console_.url, seeded.agent, { ...body, claim: "required" });
    const rule = `/v1/escalations/${decision.escalation_id}/decision`;
    await api(console_.url, seeded.operator, "POST", rule, { outcome: "approve" });
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${intent_id}`);
    await page.getByText("approval expires").waitFor();
    await page.getByRole("button", { name: "Revoke approval" }).click();
    await page.getByLabel("Reason").fill("wrong account");
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText("its approval was revoked").waitFor();
    expect(await page.getByRole("button", { name: "Revoke approval" }).count()).toBe(0);
    expect(wrongs).toEqual([]);
  });
});
