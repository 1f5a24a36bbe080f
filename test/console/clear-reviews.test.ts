import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { counted } from "./counted.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

/**
 * Measured at commit 852b97c0, when a reviewer could not select reviews of several kinds together: three actions for each
 * of two groups (g, click on approve, close), and two for each of four single cases (a, Ctrl+Enter).
 */
const actions_before = 14;

inBrowser("the job: clear 25 reviews", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  const raise = async () => {
    for (let n = 0; n < 15; n++)
      await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 600 + n }, { target: `cus_${n}` }));
    for (let n = 0; n < 6; n++)
      await submit(
        console_.url,
        seeded.agent,
        intent("other.refund", { amount_usd: 900 + n }, { agent: "shop-bot", target: `shop_${n}` }),
      );
    for (const agent of ["bot-a", "bot-b", "bot-c", "bot-d"])
      await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 2_000 }, { agent, target: agent }));
  };
  const waiting = async () => {
    const path = "/v1/escalations?status=pending&limit=200";
    return (await api<{ escalations: object[] }>(console_.url, seeded.reviewer, "GET", path)).escalations.length;
  };

  test(`takes at most half of the ${actions_before} keystrokes and clicks that it took earlier`, {
    timeout: test_timeout_ms,
  }, async () => {
    await raise();
    expect(await waiting()).toBe(25);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await page.getByText("25 shown, all").waitFor();
    expect(await page.title()).toBe("(25) Review queue · Countersign");
    const person = counted(page);
    await person.press("Shift+X");
    await page.getByText("25 selected, ").waitFor();
    await person.press("g");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Each one shows its differences").waitFor();
    await person.press("Control+Enter");
    await dialog.getByText("25 of 25 done").waitFor();
    await person.press("Control+Enter");
    await dialog.waitFor({ state: "hidden" });
    expect(await waiting()).toBe(0);
    expect(person.count()).toBeLessThanOrEqual(actions_before / 2);
    expect(wrongs).toEqual([]);
  });
});
