import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("erasure", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an admin places a hold, which keeps a decision; after its release, the decision is counted, erased and says so", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.note", { rows: 1 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/settings");
    const settings = page.getByRole("region", { name: "Erasure and retention" });
    await settings.getByText("Due now: 0 decisions").waitFor();
    await settings.getByRole("button", { name: "Place a hold" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("What").selectOption("intent");
    await dialog.getByLabel("Its id or text").fill(intent_id);
    await dialog.getByLabel("Reason").fill("case 4711");
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Place the hold" }).click();
    await settings.getByRole("cell", { name: "case 4711" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await settings.getByRole("button", { name: "Release" }).click();
    await dialog.getByRole("button", { name: "Release" }).click();
    await settings.getByText("Nothing is on hold.").waitFor();

    await page.goto(`/decisions/${intent_id}`);
    await page.getByRole("button", { name: "Erase content" }).click();
    await dialog.getByRole("button", { name: "Count" }).click();
    const erase = dialog.getByRole("button", { name: "Erase", exact: true });
    await erase.waitFor();
    expect(await erase.isDisabled()).toBe(true);
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel("Type it again").fill(intent_id);
    await erase.click();
    await page.getByText("Content erased").waitFor();
    await page.getByText("Keep this salt to prove later").waitFor();
    expect(wrongs).toEqual([]);
  });
});
