/** Where the focus is while a queue is worked through by keyboard: what has it is what a screen reader reads. */
import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { seedQueue } from "./seed.ts";

const console_ = await consoleUnderTest();

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
});
