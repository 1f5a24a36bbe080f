/** Where the focus is while a queue is worked through by keyboard: what has it is what a screen reader reads. */
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, seedQueue, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

/** Enter on a button, once it may be pressed: of that Playwright takes care with clicks only. */
async function enter(button: Locator): Promise<void> {
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.press("Enter");
}

inBrowser("the focus in the queue", () => {
  test("goes with the keyboard to the next case, also after a ruling, and each is named; a pointer keeps it in the list", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 4);
    const { page, wrongs, context } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    const caseOf = (agent: string) =>
      page.getByRole("article", { name: new RegExp(`^Escalation: ${agent}: do “other.refund” to cus_1042$`) });
    const focused = (agent: string) =>
      expect.poll(() => caseOf(agent).evaluate((element) => element.matches(":focus"))).toBe(true);
    await caseOf("bot-0").locator(".rulebar button:enabled").first().waitFor();
    expect(await caseOf("bot-0").evaluate((element) => element.matches(":focus"))).toBe(false);
    await page.keyboard.press("j");
    await focused("bot-1");
    await caseOf("bot-1").locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Control+Enter");
    await focused("bot-2");
    await page.locator(".entry", { hasText: "bot-3" }).press("Enter");
    await focused("bot-3");
    await page.locator(".entry", { hasText: "bot-0" }).click();
    await caseOf("bot-0").waitFor();
    expect(await caseOf("bot-0").evaluate((element) => element.matches(":focus"))).toBe(false);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test("is never lost with what had it: after the last ruling it is at the list, which says that nothing waits, and on a page of its own at the case", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 2);
    const { page, wrongs, context } = await console_.open({ api_key: seeded.reviewer });
    const approve = async () => {
      await enter(page.getByRole("button", { name: "Approve a" }));
      const dialog = page.getByRole("dialog", { name: "Approve this action" });
      await expect.poll(() => dialog.getByRole("button", { name: "Approve" }).isEnabled()).toBe(true);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    const focused = (locator: Locator) =>
      expect.poll(() => locator.evaluate((element) => element.matches(":focus"))).toBe(true);
    await page.goto("/review");
    const own = await page.locator(".entry", { hasText: "bot-0" }).getAttribute("href");
    await page.goto(own as string);
    await approve();
    await focused(page.getByRole("article", { name: "Escalation: bot-0" }));

    await page.goto("/review");
    await page.getByRole("article", { name: "Escalation: bot-1" }).waitFor();
    const list = page.getByRole("region", { name: "Cases" });
    const told = list.locator("[aria-live=polite]");
    await told.evaluate((element) => element.setAttribute("data-same", "yes"));
    await approve();
    await focused(list);
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    await expect.poll(() => told.textContent()).toBe("No escalations");
    // Another element with other words would not be read out.
    expect(await told.getAttribute("data-same")).toBe("yes");
    expect(await violations(page)).toEqual([]);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test("goes from the ruling on a group to how far it is, and from there to the list", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 1);
    for (const amount_usd of [700, 800])
      await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }, { agent: "bot-many" }));
    const { page, wrongs, context } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await enter(page.getByRole("button", { name: "Rule on all 2" }));
    await page.locator(".entry", { hasText: "bot-many" }).first().waitFor();
    const dialog = page.getByRole("dialog");
    await enter(dialog.getByRole("button", { name: "Approve 2" }));
    const progress = dialog.getByRole("status");
    await expect.poll(() => progress.evaluate((element) => element.matches(":focus"))).toBe(true);
    await dialog.getByText("2 of 2 done").waitFor();
    await enter(dialog.getByRole("button", { name: "Close" }));
    await page.getByRole("button", { name: "Rule on all 2" }).waitFor({ state: "detached" });
    expect(await page.getByRole("region", { name: "Cases" }).evaluate((element) => element.matches(":focus"))).toBe(
      true,
    );
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
