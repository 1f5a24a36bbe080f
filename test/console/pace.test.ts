import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the pace of reviewers", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    const { membranes } = await api<{ membranes: { membrane_id: string }[] }>(
      ...[console_.url, seeded.admin, "GET", "/v1/membranes"],
    );
    for (const { membrane_id } of membranes)
      await api(console_.url, seeded.admin, "PATCH", `/v1/membranes/${membrane_id}`, {
        escalation: { pace: { min_seconds: 3_600 } },
      });
  }, test_timeout_ms);

  const raise = (target: string) => {
    const parameters = { amount_usd: 750, currency: "USD" };
    return submit(console_.url, seeded.agent, intent("other.refund", parameters, { target, agent: `bot-${target}` }));
  };

  test("an approval soon after the case was shown asks for a reason; the reason stays with the case", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page } = await console_.open({ api_key: seeded.reviewer });
    const { decision } = await raise("cus_soon");
    await page.goto(`/escalations/${decision.escalation_id}`);
    await page.getByText("An approval needs a reason within 3600 s").waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Control+Enter");
    await dialog.getByText("This approval needs a reason").waitFor();
    await dialog.getByLabel("Comment for people").fill("The customer called twice.");
    await page.keyboard.press("Control+Enter");
    await page.getByText(/^Fast: \d+\.\d s after the case was shown, approval 1 within five minutes/).waitFor();
    expect(await page.getByText("The customer called twice.").first().isVisible()).toBe(true);
  });

  test("a second person can be asked instead of giving a reason", { timeout: test_timeout_ms }, async () => {
    const { page } = await console_.open({ api_key: seeded.reviewer });
    const { decision } = await raise("cus_second");
    await page.goto(`/escalations/${decision.escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Control+Enter");
    await dialog.getByLabel("Without a reason: ask for one more person").check();
    await page.keyboard.press("Control+Enter");
    await page.getByText("One more person has to approve").waitFor();
  });

  test("admins see the pace of each reviewer, and can show the totals only", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/people");
    const card = page.getByRole("region", { name: "Pace of reviewers" });
    await card.getByText("All reviewers").first().waitFor();
    const rows = card.getByRole("row");
    await expect.poll(() => rows.count()).toBeGreaterThan(3);
    await card.getByLabel("Show the totals of all reviewers only").click();
    await expect.poll(() => rows.count()).toBe(3);
    expect(wrongs).toEqual([]);
  });
});
