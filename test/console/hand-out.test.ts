import { readFile } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { firstIdAt } from "../../packages/server/src/store/rows/first-id-at.ts";
import { followLoaded, in_dialog, openLoaded, sidewaysOf, violationsInBoth } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("what the console hands out", () => {
  let seeded: Seeded;
  let intent_id: string;
  let old_id: string;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    ({ intent_id } = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 })));
    await submit(console_.url, seeded.agent, intent("other.mail", {}, { target: "cus_7" }));
    const asked = await submit(console_.url, seeded.agent, intent("other.mail", {}, { target: "cus_8" }));
    // Into the middle of the last month. Ids begin with their time.
    const now = new Date();
    const middle_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15);
    old_id = firstIdAt("intent", middle_ms) + asked.intent_id.slice(14);
    await console_.database.db.query(
      "update ledger set intent_id = $3, at = $4 where org_id = $1 and intent_id = $2 and type = 'decided'",
      [seeded.org_id, asked.intent_id, old_id, new Date(middle_ms)],
    );
  }, test_timeout_ms);

  // Before, a month took at least 27 keystrokes for the two times, and one click for each 50 rows; there was no file.
  test("the job 'export a month' takes three clicks and no key", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    await openLoaded(page, "/");
    let clicks = 0;
    const click = async (role: "link" | "button", name: string) => {
      clicks += 1;
      await page.getByRole(role, { name, exact: true }).click();
    };
    await click("link", "Decisions");
    await click("button", "Export");
    expect(await violationsInBoth(page, in_dialog)).toEqual([]);
    const download = page.waitForEvent("download");
    await click("button", "Download");
    const file = await download;
    expect(clicks).toBe(3);
    const text = await readFile(await file.path(), "utf8");
    const lines = text.trim().split("\r\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain(old_id);
    expect(file.suggestedFilename()).toMatch(/^decisions-\d{4}-\d\d-01\.csv$/);
    await page.getByText("1 rows exported").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the audit trail is exported as filtered, and its rows say what they are about and link to it", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    await openLoaded(page, "/audit?type=decided");
    const row = page.getByRole("row").filter({ hasText: "cus_7" });
    expect(await row.getByRole("link").textContent()).toBe(
      "support-bot: call tool_mail (other.mail) on cus_7 ($740.00)",
    );
    expect(await violationsInBoth(page)).toEqual([]);
    await page.getByRole("button", { name: "Export", exact: true }).click();
    const month = /^countersign evidence --from \d{4}-\d\d-01 --to \d{4}-\d\d-01$/;
    expect(await page.getByRole("dialog").locator("code").textContent()).toMatch(month);
    expect(await violationsInBoth(page, in_dialog)).toEqual([]);
    await page.getByLabel("Period").selectOption("Everything");
    await page.getByLabel("Format").selectOption("JSON Lines, with everything");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    const types = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type);
    expect(types).toEqual(["decided", "decided", "decided"]);
    expect(wrongs).toEqual([]);
  });

  test("an intent is one printable page with its whole trail", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    await openLoaded(page, `/decisions/${intent_id}`);
    await page.getByRole("link", { name: "Print" }).click();
    await page.getByRole("heading", { name: "Who asked for what" }).waitFor();
    const heads = await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents();
    expect(heads).toEqual(["Who asked for what", "Decision and rules", "Facts", "Review", "What happened"]);
    const { audit } = await api<{ audit: { hash: string }[] }>(
      ...([console_.url, seeded.auditor, "GET", `/v1/intents/${intent_id}/audit`] as const),
    );
    const hashes = await page.locator("td.hash").allTextContents();
    expect(hashes).toEqual(audit.map(({ hash }) => hash));
    expect(await violationsInBoth(page)).toEqual([]);
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("button", { name: "Print or save as PDF" }).isVisible()).toBe(false);
    expect(await page.getByRole("navigation").first().isVisible()).toBe(false);
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of [`/decisions/${intent_id}/print`, "/audit"]) {
      await followLoaded(page, path);
      expect(await sidewaysOf(page), path).toEqual([]);
    }
    expect(wrongs).toEqual([]);
  });
});
