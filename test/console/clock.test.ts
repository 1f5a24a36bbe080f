/** The time that the pages show. */
import { beforeAll, describe, expect, test } from "vitest";
import { openLoaded } from "./accessibility.ts";
import { consoleUnderTest, test_timeout_ms, whyNot } from "./console-under-test.ts";
import { intent, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

describe.skipIf(whyNot !== null)(`ages${whyNot === null ? "" : `: ${whyNot}`}`, () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  test("are right also after a page that shows none", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs, context } = await console_.open({ api_key: seeded.admin });
    await page.clock.install();
    await openLoaded(page, "/backtest");
    const away_seconds = 600;
    await page.clock.fastForward(away_seconds * 1_000);
    console_.advance(away_seconds);
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 20 }));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Decisions" }).click();
    const age = page.getByRole("row").nth(1).locator("time");
    await age.waitFor();
    expect(await age.textContent()).toMatch(/^(just now|\d+ s ago)$/);
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
