/** What people are asked about and shown is told by names and words, not only by ids. */
import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import type { Person } from "./people.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

const twoPeople = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "grants", title: "Grants need two people" },
  spec: {
    match: { actions: ["other.grant"] },
    when: "true",
    effect: "escalate",
    message: "Two people grant access",
    escalation: { quorum: 2 },
  },
};

inBrowser("told in words", () => {
  let seeded: Seeded;
  let otto: Person;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    await console_.join(seeded.admin, "rita@example.com", "reviewer");
    otto = await console_.join(seeded.admin, "otto@example.com", "operator");
    const { policy } = await api<{ policy: { policy_id: string } }>(
      console_.url,
      seeded.admin,
      "POST",
      "/v1/policies",
      { policy: twoPeople },
    );
    await api(console_.url, seeded.admin, "POST", `/v1/policies/${policy.policy_id}/activate`, { mode: "live" });
  }, test_timeout_ms);

  test("whoever revokes a key, withdraws an override or moves a membrane is asked by its name", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.export", { rows: 5_000 }));
    await api(console_.url, seeded.operator, "POST", `/v1/intents/${intent_id}/override`, {
      reason: "agreed by phone",
    });
    const { page, wrongs, context } = await console_.open({ api_key: seeded.admin });
    const dialog = page.getByRole("dialog");
    await page.goto("/keys");
    const key = page.getByRole("row").filter({ hasText: "auditor key" });
    await key.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("auditor key").waitFor();
    await page.goto("/overrides");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await dialog.getByText("support-bot").waitFor();
    await dialog.getByText("agreed by phone").waitFor();
    await dialog.getByRole("button", { name: "Withdraw" }).click();
    // Nothing more ends of an override that does not stand any more.
    await page.getByText("withdrawn", { exact: true }).waitFor();
    expect(await page.getByRole("row").last().getByRole("time").count()).toBe(0);
    await page.goto("/membranes");
    await page.getByRole("button", { name: "Return to shadow" }).click();
    await dialog.getByText("Membrane default: agents go on whatever the verdict.").waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test("the trail tells who did it by address, and which person, policy or key it is about", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs, context } = await console_.open({ session: otto.session });
    await page.goto("/audit");
    const row = (text: string) => page.getByRole("row").filter({ hasText: text });
    await row("User joined").filter({ hasText: "rita@example.com, reviewer" }).first().waitFor();
    await row("Policy activated").filter({ hasText: "grants, version 1, live" }).waitFor();
    await row("Session began").getByText(otto.email).first().waitFor();
    await page.goto("/settings");
    await page.getByText(`a session of ${otto.email}`).waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
