/** Source: docs/decisions/0061. */
import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { in_dialog, openLoaded, sidewaysOf, violations, violationsInBoth } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("people and the audit trail", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    await submit(console_.url, seeded.agent, intent("other.mail", {}, { agent: "mail-bot", target: "cus_7" }));
  }, test_timeout_ms);

  test("audit filters are typed with suggestions, are chips and are in the address", {
    timeout: test_timeout_ms,
  }, async () => {
    const ada = await console_.join(seeded.admin, "ada@example.com", "operator");
    const { page, wrongs } = await console_.open({ session: ada.session });
    await openLoaded(page, "/audit");
    const find = page.getByRole("combobox", { name: "Find audit rows" });
    const chips = page.getByRole("list", { name: "Searched for" });
    const search = () => Object.fromEntries(new URL(page.url()).searchParams);
    await find.fill("mail-b");
    await page.getByRole("option", { name: "agent: mail-bot" }).click();
    await expect.poll(search).toEqual({ agent_id: "mail-bot" });
    await page.getByText("2 shown, all").waitFor();
    for (const row of await page.getByRole("row").filter({ hasText: "mail-bot" }).all())
      expect(await row.textContent()).toContain("cus_7");
    await find.fill("by:ada");
    await page.getByRole("option", { name: "by: ada@example.com" }).click();
    await page.getByText("No such rows").waitFor();
    await chips.getByRole("button", { name: /^agent:/ }).click();
    await expect.poll(search).toEqual({ by: "ada@example.com" });
    await page.getByRole("row").filter({ hasText: "Session began" }).first().waitFor();
    expect(await violationsInBoth(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await sidewaysOf(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("a person chooses a name, and others see it with the address in the tooltip", {
    timeout: test_timeout_ms,
  }, async () => {
    const ben = await console_.join(seeded.admin, "ben@example.com", "operator");
    const { page, wrongs } = await console_.open({ session: ben.session });
    await openLoaded(page, "/settings");
    await page.getByLabel("Shown as").fill("Ben Field");
    await page.getByRole("region", { name: "Your name" }).getByRole("button", { name: "Save" }).click();
    await page.getByText("Name saved").waitFor();
    await openLoaded(page, "/audit?type=user_name_changed");
    const who = page.getByRole("row").last().getByText("Ben Field", { exact: true }).first();
    await who.waitFor();
    expect(await page.locator('[title^="ben@example.com usr_"]').count()).toBeGreaterThan(0);
    await openLoaded(page, "/people");
    const row = page.getByRole("row").filter({ hasText: "Ben Field" });
    expect(await row.textContent()).toContain("ben@example.com");
    expect(wrongs).toEqual([]);
  });

  test("an admin with a second factor requires one of everybody, and a member sets one up at the next sign-in", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const admin = await console_.join(own.admin, "cleo@example.com", "admin");
    await console_.join(own.admin, "dan@example.com", "reviewer");
    const { page, wrongs } = await console_.open({ session: admin.session, own: true });
    await openLoaded(page, "/people");
    const required = page.getByLabel("Everybody needs a second factor");
    await required.click();
    await page.getByText("must switch this on").waitFor();
    expect(await required.isChecked()).toBe(false);
    const setUp = async () => {
      await page.getByRole("button", { name: "Set up" }).click();
      const secret = (await page.locator("dialog .secret code").textContent()) ?? "";
      const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
      await page.getByLabel("Code of the authenticator").fill(code);
      await page.getByRole("button", { name: "Confirm" }).click();
      await page.getByRole("button", { name: "I have stored them" }).click();
    };
    await openLoaded(page, "/settings");
    await setUp();
    await openLoaded(page, "/people");
    await required.click();
    await expect.poll(async () => (await required.isChecked()) && (await required.isEnabled())).toBe(true);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();

    await page.goto("/login");
    await page.getByLabel("E-mail", { exact: true }).fill("dan@example.com");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Set up a second factor", level: 1 }).waitFor();
    expect(await violations(page)).toEqual([]);
    await setUp();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // The switch without a second factor was refused.
    expect(wrongs.filter((each) => !each.includes("409"))).toEqual([]);
  });

  test("the dialog of a membrane edits reviewers, quorum and time limit", { timeout: test_timeout_ms }, async () => {
    const own = await seedLive(console_.url);
    const eve = await console_.join(own.admin, "eve@example.com", "reviewer");
    const { page, wrongs } = await console_.open({ api_key: own.admin });
    await openLoaded(page, "/membranes");
    await page.getByRole("button", { name: "Change" }).first().click();
    const dialog = page.getByRole("dialog");
    const reviewers = dialog.getByRole("group", { name: "Reviewers" });
    await reviewers.getByLabel("everyone with the role reviewer").uncheck();
    await reviewers.getByLabel(/eve@example.com/).check();
    await dialog.getByLabel("Approvals needed").fill("1");
    await reviewers.getByLabel("everyone with the role operator").check();
    await dialog.getByLabel("Approvals needed").fill("2");
    await dialog.getByLabel("Hours for a review").fill("1.5");
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { membrane } = await api<{ membrane: { escalation: object } }>(
      ...([console_.url, own.admin, "GET", `/v1/membranes/${own.membrane_id}`] as const),
    );
    expect(membrane.escalation).toMatchObject({ quorum: 2, timeout_seconds: 5_400 });
    expect(JSON.stringify(membrane.escalation)).toContain(eve.user_id);
    expect(JSON.stringify(membrane.escalation)).not.toContain('"reviewer"');
    expect(wrongs).toEqual([]);
  });
});
