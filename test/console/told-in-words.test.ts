/** What people are asked about and shown is told by names and words, not only by ids. */
import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("told in words", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("whoever revokes a key, withdraws an override or moves a membrane is asked by its name", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.export", { rows: 5_000 }));
    await api(console_.url, seeded.operator, "POST", `/v1/intents/${intent_id}/override`, {
      reason: "agreed by phone",
    });
    const { page, wrongs, context } = await console_.open({ api_key: seeded.admin });
    const dialog = page.getByRole("dialog");
    await page.goto("/keys");
    const key = page.getByRole("row").filter({ hasText: "auditor key" });
    await key.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("auditor key").waitFor();
    await page.goto("/overrides");
    await page.getByRole("button", { name: "Withdraw" }).click();
    await dialog.getByText("support-bot").waitFor();
    await dialog.getByText("agreed by phone").waitFor();
    await dialog.getByRole("button", { name: "Withdraw" }).click();
    // Nothing more ends of an override that does not stand any more.
    await page.getByText("withdrawn", { exact: true }).waitFor();
    expect(await page.getByRole("row").last().getByRole("time").count()).toBe(0);
    await page.goto("/membranes");
    await page.getByRole("button", { name: "Return to shadow" }).click();
    await dialog.getByText("Membrane default: agents go on whatever the verdict.").waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
