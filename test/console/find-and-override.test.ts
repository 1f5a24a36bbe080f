/**
 * The job "find why an action was blocked, and override it". A customer reports that a refund did not arrive, and gives
 * the customer's id. 260 refunds were blocked since, so the action is on the sixth page of blocked decisions.
 *
 * Clicks and keystrokes without the text of the reason. A choice from a list counts as two.
 * The earlier console had no search: Decisions 1, Verdict 2, More decisions 5, the row 1, Override 1, confirm 1: 11.
 */
import { beforeAll, expect, test } from "vitest";
import { openLoaded, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { counted } from "./counted.ts";
import { api, intent, type Seeded, seedLive } from "./seed.ts";

const console_ = await consoleUnderTest();
const before_steps = 11;
const blocked = 270;

inBrowser("a person who knows only whom an action was for", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    for (let begun = 0; begun < blocked; begun += 45) {
      const intents = Array.from({ length: 45 }, (_, n) => {
        const body = intent("other.export", { rows: 5_000 });
        const target = { type: "customer", identifier: `cus_${7_000 + begun + n}` };
        return { intent: { ...body.intent, action: { ...body.intent.action, target } } };
      });
      await api(console_.url, seeded.agent, "POST", "/v1/intents/batch", { intents });
    }
  }, test_timeout_ms);

  test("finds why it was blocked and overrides it, in at most half of the earlier steps", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto("/");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const steps = counted(page);
    await steps.press("Control+k");
    await expect.poll(() => page.evaluate("document.activeElement.getAttribute('role')")).toBe("combobox");
    await steps.paste("cus_7005");
    await page.getByRole("option", { name: "cus_7005" }).first().waitFor();
    await expect.poll(() => page.locator("[cmdk-item][data-selected=true]").textContent()).toContain("blocked");
    await steps.press("Enter");
    await page.getByRole("heading", { name: "Reasons" }).waitFor();
    await page.getByText("5000 rows are more than 1,000").first().waitFor();
    await steps.click(page.getByRole("button", { name: "Override this block" }));
    await page.keyboard.insertText("The customer asked for it");
    await steps.press("Control+Enter");
    await page.getByText("Overridden: the agent’s next attempt").waitFor();
    expect(steps.count()).toBeLessThanOrEqual(before_steps / 2);
    expect(wrongs).toEqual([]);
  });

  test("searches decisions with the keyboard alone, without a violation that axe can find", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    await openLoaded(page, "/decisions");
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Overview" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("/");
    await page.keyboard.insertText("target:cus_7005");
    await page.getByRole("option", { name: "cus_7005" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).search).toBe("?target=cus_7005");
    await page.getByText("1 shown, all").waitFor();
    await page.getByRole("button", { name: "target: cus_7005" }).click();
    await page.getByText("page 1: 50 shown").waitFor();
    expect(wrongs).toEqual([]);
  });
});
