import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("freezing", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an operator freezes a decision's agent after seeing the counts, and an admin unfreezes it", {
    timeout: test_timeout_ms,
  }, async () => {
    const body = intent("other.note", { rows: 1 });
    const passed = await submit(console_.url, seeded.agent, body);
    expect(passed.decision.verdict).toBe("approve");
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${passed.intent_id}`);
    await page.getByRole("button", { name: "Freeze" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Decisions in the last 24 hours").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel("Reason").fill("It pays twice");
    await dialog.getByRole("button", { name: "Freeze" }).click();
    await page.getByText("It is in force on every node.").waitFor();
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("block");
    expect(await page.getByRole("button", { name: /^(Unf|F)reeze$/ }).count()).toBe(0);
    expect(wrongs).toEqual([]);

    const admin = await console_.open({ api_key: seeded.admin });
    await admin.page.goto("/settings");
    const freezes = admin.page.getByRole("region", { name: "Freezes" });
    await freezes.getByRole("cell", { name: "It pays twice" }).waitFor();
    expect(await violations(admin.page)).toEqual([]);
    await freezes.getByRole("button", { name: "Unfreeze" }).click();
    await admin.page.getByRole("dialog").getByLabel("Reason").fill("It is mended");
    await admin.page.getByRole("dialog").getByRole("button", { name: "Unfreeze" }).click();
    await freezes.getByText("Nothing is frozen.").waitFor();
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("approve");
    expect(admin.wrongs).toEqual([]);
  });

  test("an admin freezes a key on its row, and requires a second person in the settings", {
    timeout: test_timeout_ms,
  }, async () => {
    const made = await api<{ api_key: string; key_id: string }>(console_.url, seeded.admin, "POST", "/v1/api-keys", {
      name: "runaway",
    });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/settings");
    const second = page.getByLabel("A second person must confirm each unfreezing");
    const saved = page.waitForResponse((answer) => answer.request().method() === "PATCH");
    await second.check();
    expect((await saved).status()).toBe(200);
    await page.goto("/keys");
    const row = page.getByRole("row").filter({ hasText: "runaway" });
    await row.getByRole("button", { name: "Freeze" }).click();
    await page.getByLabel("Reason").fill("It leaked");
    await page.getByRole("dialog").getByRole("button", { name: "Freeze" }).click();
    await row.getByRole("button", { name: "Unfreeze" }).click();
    await page.getByLabel("Reason").fill("It did not");
    await page.getByRole("dialog").getByRole("button", { name: "Unfreeze" }).click();
    await page.getByText("A second person must confirm").waitFor();
    expect((await submit(console_.url, made.api_key, intent("other.note", {}))).decision.verdict).toBe("block");
    expect(wrongs).toEqual([]);
  });
});
