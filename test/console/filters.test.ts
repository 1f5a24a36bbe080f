/** Filters that are typed follow the address. */
import { beforeAll, describe, expect, test } from "vitest";
import { openLoaded } from "./accessibility.ts";
import { consoleUnderTest, test_timeout_ms, whyNot } from "./console-under-test.ts";
import { type Seeded, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

describe.skipIf(whyNot !== null)(`a filter that is typed${whyNot === null ? "" : `: ${whyNot}`}`, () => {
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
});
