import { beforeAll, expect, test } from "vitest";
import { followLoaded, openLoaded } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, type Seeded, seedLive, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("ages", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  test.each([
    ["an hour behind", -3_600],
    ["an hour ahead of", 3_600],
    ["three seconds behind", -3],
  ])(
    "and remaining times follow the service's clock if the browser's clock is %s it",
    {
      timeout: test_timeout_ms,
    },
    async (_, off_seconds) => {
      const { url } = console_;
      const own = await seedLive(url);
      await submit(url, own.agent, intent("other.refund", { amount_usd: 900 }));
      const { page, wrongs } = await console_.open({ api_key: own.admin });
      await page.addInitScript(`{
      const { now } = Date;
      Date.now = () => now() + ${off_seconds * 1_000};
    }`);
      await openLoaded(page, "/review");
      const times = page.locator(".entry time");
      expect(await times.allTextContents()).toEqual([
        expect.stringMatching(/^3 h 5\d min left$|^4 h(?: \d s)? left$/),
        expect.stringMatching(/^just now$|^\d+ s ago$|^\d min ago$/),
      ]);
      await followLoaded(page, "/?span=hours");
      await expect.poll(() => page.locator(".figure b").count()).toBeGreaterThan(0);
      expect(await page.locator(".figure b").first().textContent()).toBe("1");
      await openLoaded(page, "/?span=month");
      expect(await page.locator(".figure b").first().textContent()).toBe("1");
      expect(wrongs).toEqual([]);
    },
  );

  // Must run last, because it moves the service's clock forward.
  test("are also right after a page without ages", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, own: true });
    await page.clock.install();
    await openLoaded(page, "/backtest");
    const away_seconds = 600;
    await page.route("**/v1/**", async (route) => {
      const response = await route.fetch();
      const date = new Date(Date.now() + away_seconds * 1_000).toUTCString();
      await route.fulfill({ response, headers: { ...response.headers(), date } });
    });
    await page.clock.fastForward(away_seconds * 1_000);
    await console_.advance(away_seconds);
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 20 }));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Agents" }).click();
    const age = page.getByRole("row").nth(1).locator("time").first();
    await age.waitFor();
    expect(await age.textContent()).toMatch(/^(just now|\d+ s ago|\d min ago)$/);
    expect(wrongs).toEqual([]);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});
