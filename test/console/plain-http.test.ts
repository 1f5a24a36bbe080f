/** The console over plain http from another machine, where browsers disable `crypto.randomUUID` and the clipboard. */
import { beforeAll, expect, test } from "vitest";
import { elsewhere } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("over plain http", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  const open = async (api_key: string) => {
    const opened = await console_.open({ api_key }, console_.url.replace("127.0.0.1", elsewhere));
    await opened.page.goto("/");
    expect(await opened.page.evaluate("isSecureContext")).toBe(false);
    const wrongs = () => opened.wrongs.filter((each) => !each.includes("Cross-Origin-Opener-Policy"));
    return { ...opened, wrongs };
  };

  test("one escalation is approved, then a group of them", { timeout: test_timeout_ms }, async () => {
    const raised = [];
    for (const amount_usd of [601, 702, 803])
      raised.push(await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd })));
    const { page, wrongs } = await open(seeded.reviewer);
    await page.goto(`/escalations/${raised[0]?.decision.escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Outcome: approved").waitFor();
    await page.goto("/review");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Approve 2" }).click();
    await dialog.getByText("2 of 2 done").waitFor();
    expect(wrongs()).toEqual([]);
  });

  test("a key is created, and the page asks to copy it by hand", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await open(seeded.admin);
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("a key");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText(/^svc_live_/).waitFor();
    await page.getByRole("button", { name: /^Copy/ }).click();
    await page.getByText("Not allowed: select and copy it").waitFor();
    expect(wrongs()).toEqual([]);
  });
});
