/** Counts the requests of the reviewers' pages: the rate limit must leave room for rulings. */
import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { seedQueue } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the budget of a reviewer", () => {
  test("reads the queue once after a ruling, and the next case's record not at all", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 4);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    // Without timers, the page requests only its own data.
    await page.addInitScript("window.setInterval = () => 0");
    await page.goto("/review");
    await page.getByText("bot-0").first().waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.waitForLoadState("networkidle");
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (!pathname.startsWith("/v1/")) return;
      const what = pathname.replace(/_[0-9A-Z]{26}/, "_*");
      asked.push(`${request.method()} ${what} ${searchParams.get("status") ?? ""}`.trim());
    });
    await page.keyboard.press("a");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("article").getByText("bot-1").first().waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.waitForLoadState("networkidle");
    expect(asked.sort()).toEqual([
      "GET /v1/escalations decided",
      "GET /v1/escalations pending",
      "GET /v1/intents/int_*",
      "POST /v1/escalations/esc_*/decision",
    ]);
    expect(wrongs).toEqual([]);
  });
});
