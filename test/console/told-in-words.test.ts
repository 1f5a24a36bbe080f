import { beforeAll, expect, test } from "vitest";
import { follow } from "./chromium.ts";
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

inBrowser("names and words", () => {
  let seeded: Seeded;
  let rita: Person;
  let otto: Person;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    rita = await console_.join(seeded.admin, "rita@example.com", "reviewer");
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

  test("dialogs name the key to revoke, the override to withdraw and the membrane to change", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.export", { rows: 5_000 }));
    await api(console_.url, seeded.operator, "POST", `/v1/intents/${intent_id}/override`, {
      reason: "agreed by phone",
    });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    const dialog = page.getByRole("dialog");
    await page.goto("/keys");
    const key = page.getByRole("row").filter({ hasText: "auditor key" });
    await key.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("auditor key").waitFor();
    expect(await key.getByRole("time").count()).toBe(1);
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await key.getByText("revoked", { exact: true }).waitFor();
    expect(await key.getByRole("time").count()).toBe(0);
    await follow(page, "/overrides");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await dialog.getByText("support-bot").waitFor();
    await dialog.getByText("agreed by phone").waitFor();
    await dialog.getByRole("button", { name: "Withdraw" }).click();
    await page.getByText("withdrawn", { exact: true }).waitFor();
    expect(await page.getByRole("row").last().getByRole("time").count()).toBe(0);
    await follow(page, "/membranes");
    await page.getByRole("button", { name: "Return to shadow" }).click();
    await dialog.getByText("Membrane default: agents continue whatever the verdict.").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the trail names actors by address, and the person, policy or key concerned", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ session: otto.session });
    await page.goto("/audit");
    const row = (text: string) => page.getByRole("row").filter({ hasText: text });
    await row("User joined reviewer").filter({ hasText: "rita@example.com" }).first().waitFor();
    await row("Policy activated version 1, live").getByRole("link", { name: "grants", exact: true }).waitFor();
    await row("Session began").getByText(otto.email).first().waitFor();
    await follow(page, "/settings");
    await page.getByText(`a session of ${otto.email}`).waitFor();
    const admins = await console_.open({ api_key: seeded.admin });
    await admins.page.goto("/audit");
    const activated = admins.page.getByRole("row").filter({ hasText: "Policy activated version 1, livegrants" });
    await activated.getByRole("cell", { name: "key quickstart", exact: true }).waitFor();
    expect([...wrongs, ...admins.wrongs]).toEqual([]);
  });

  test("an auditor finds a decision by date, gets no retry advice for a missing page, and no offer of review mails", {
    timeout: test_timeout_ms,
  }, async () => {
    const { decision } = await submit(console_.url, seeded.agent, intent("other.dated", {}, { agent: "dated-bot" }));
    const audrey = await console_.join(seeded.admin, "audrey@example.com", "auditor");
    const { page, wrongs } = await console_.open({ session: audrey.session, zone: "Europe/Berlin" });
    await page.goto("/decisions?agent_id=dated-bot");
    const at = new Date(decision.timestamp);
    const when = at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "Europe/Berlin" });
    await page.getByRole("row").filter({ hasText: when }).waitFor();
    await follow(page, "/decisions/int_01M8AG0S3MCJZ19QNBPMEABWAA");
    await page.getByText("This does not exist, or no longer exists").waitFor();
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    await follow(page, "/settings");
    await page.getByRole("region", { name: "Second factor" }).waitFor();
    await page.getByLabel("Current password").waitFor();
    expect(await page.getByRole("region", { name: "Notices" }).count()).toBe(0);
    expect(wrongs).toEqual([]);
  });

  test("the queue shows the number of approvals, and the cases assigned to the reader by name", {
    timeout: test_timeout_ms,
  }, async () => {
    const grant = () => submit(console_.url, seeded.agent, intent("other.grant", {}, { agent: "grants-bot" }));
    const raised = await grant();
    const handed = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    const voted = `/v1/escalations/${raised.decision.escalation_id}/decision`;
    await api(console_.url, seeded.reviewer, "POST", voted, { outcome: "approve" });
    await api(console_.url, seeded.admin, "POST", `/v1/escalations/${handed.decision.escalation_id}/reassign`, {
      reviewers: [{ type: "user", id: rita.user_id }],
    });
    const { page, wrongs } = await console_.open({ session: rita.session });
    await page.goto("/review");
    const entries = page.locator(".entry");
    await entries.filter({ hasText: "grants-bot" }).getByText("1 of 2 approvals").waitFor();
    await page.getByRole("button", { name: "More filters" }).click();
    await page.getByLabel("For").selectOption("Me by name");
    await expect.poll(() => entries.allTextContents()).toEqual([expect.stringContaining("support-bot")]);
    await follow(page, `/escalations/${handed.decision.escalation_id}`);
    await page.getByRole("link", { name: "To the queue" }).waitFor();
    const menu = page.getByRole("navigation", { name: "Main" });
    expect(await menu.getByRole("link", { name: "Review queue" }).getAttribute("aria-current")).toBe("page");
    await page.getByRole("link", { name: "To the queue" }).click();
    await page.getByRole("heading", { name: "Review queue" }).waitFor();
    expect(wrongs).toEqual([]);
  });
});
