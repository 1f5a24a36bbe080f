/** Filters that are typed follow the address. */
import { beforeAll, expect, test } from "vitest";
import { openLoaded } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type Seeded, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("a filter that is typed", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  test.each([
    ["/review", "agent_id", "Agent", "Review queue"],
    ["/decisions", "agent_id", "Agent", "Decisions"],
    ["/backtest", "agent_id", "Agent", "Backtest"],
    ["/audit", "actor", "By (key or user id)", "Audit"],
  ])(
    "of %s counts once it is left or on Enter, goes with the menu's link, and does not come back",
    {
      timeout: test_timeout_ms,
    },
    async (path, name, label, menu) => {
      const { page, wrongs, context } = await console_.open({ api_key: seeded.admin });
      const field = page.getByLabel(label, { exact: true });
      const search = () => new URL(page.url()).search;
      await openLoaded(page, `${path}?${name}=bot-5`);
      expect(await field.inputValue()).toBe("bot-5");
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: menu }).click();
      await expect.poll(search).toBe("");
      await expect.poll(() => field.inputValue()).toBe("");
      await field.focus();
      await page.keyboard.press("Tab");
      expect(search()).toBe("");

      await field.fill(" bot-6 ");
      await page.keyboard.press("Enter");
      await expect.poll(search).toBe(`?${name}=bot-6`);
      await expect.poll(() => field.inputValue()).toBe("bot-6");
      // Whoever goes on typing is still in the field.
      await page.keyboard.type("7");
      await page.keyboard.press("Tab");
      await expect.poll(search).toBe(`?${name}=bot-67`);
      expect(wrongs).toEqual([]);
      await context.close();
    },
  );

  test("of a time is the same for whoever opens the address, in their own zone", {
    timeout: test_timeout_ms,
  }, async () => {
    const inZone = (zone: string) => console_.open({ api_key: seeded.admin, zone });
    const here = await inZone("Asia/Kathmandu");
    await openLoaded(here.page, "/decisions");
    await here.page.getByLabel("From", { exact: true }).fill("2026-11-22T10:00");
    await expect.poll(() => new URL(here.page.url()).search).toBe("?from=2026-11-22T04%3A15%3A00.000Z");
    const there = await inZone("America/St_Johns");
    await openLoaded(there.page, new URL(here.page.url()).pathname + new URL(here.page.url()).search);
    expect(await there.page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-11-22T00:45");
    // Typed digit by digit the year is for a while one of antiquity, whose zones were minutes and seconds off.
    for (const text of ["0002-03-04T05:06", "0020-03-04T05:06"]) {
      await there.page.getByLabel("From", { exact: true }).fill(text);
      await expect.poll(() => there.page.getByLabel("From", { exact: true }).inputValue()).toBe(text);
    }
    expect([here.wrongs, there.wrongs]).toEqual([[], []]);
    await Promise.all([here.context.close(), there.context.close()]);
  });
});
