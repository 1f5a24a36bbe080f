import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { violations } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, seedQueue, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

/** Presses Enter once the button is enabled. Playwright waits for that only before clicks. */
async function enter(button: Locator): Promise<void> {
  await expect.poll(() => button.isEnabled()).toBe(true);
  await button.press("Enter");
}

const focusOn = (locator: Locator) =>
  expect.poll(() => locator.evaluate((element) => element.matches(":focus"))).toBe(true);

inBrowser("the focus in the queue", () => {
  test("a message about a ruling covers none of the buttons of the next case", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 2);
    const { page, wrongs } = await console_.open({ api_key: seeded.operator, width: 1280, height: 720 });
    await page.goto("/review");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Control+Enter");
    const message = page.locator(".toast").filter({ hasText: "Approved" });
    await message.waitFor();
    await page.locator(".rulebar button:enabled", { hasText: "Approve" }).waitFor();
    const [told, bar] = [await message.boundingBox(), await page.locator(".rulebar").boundingBox()];
    expect((told?.y ?? 0) + (told?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    expect(wrongs).toEqual([]);
  });

  test("moves with the keyboard to the next case, also after a ruling, and each is named; a pointer keeps it in the list", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 4);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    const caseOf = (agent: string) =>
      page.getByRole("article", {
        name: new RegExp(`^Escalation: ${agent}: call tool_refund \\(other.refund\\) on cus_1042$`),
      });
    const focused = (agent: string) =>
      expect.poll(() => caseOf(agent).evaluate((element) => element.matches(":focus"))).toBe(true);
    await caseOf("bot-0").locator(".rulebar button:enabled").first().waitFor();
    expect(await caseOf("bot-0").evaluate((element) => element.matches(":focus"))).toBe(false);
    await page.keyboard.press("j");
    await focused("bot-1");
    await caseOf("bot-1").locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Control+Enter");
    await focused("bot-2");
    await page.locator(".entry", { hasText: "bot-3" }).press("Enter");
    await focused("bot-3");
    await page.locator(".entry", { hasText: "bot-0" }).click();
    await caseOf("bot-0").waitFor();
    expect(await caseOf("bot-0").evaluate((element) => element.matches(":focus"))).toBe(false);
    expect(wrongs).toEqual([]);
  });

  test("is never lost with its element: after the last ruling it is on the empty list, and on a case's own page on the case", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 2);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    const approve = async () => {
      await enter(page.getByRole("button", { name: "Approve a" }));
      const dialog = page.getByRole("dialog", { name: "Approve this action" });
      await expect.poll(() => dialog.getByRole("button", { name: "Approve" }).isEnabled()).toBe(true);
      await page.keyboard.press("Control+Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await page.goto("/review");
    const own = await page.locator(".entry", { hasText: "bot-0" }).getAttribute("href");
    await page.goto(own as string);
    await approve();
    await focusOn(page.getByRole("article", { name: "Escalation: bot-0" }));

    await page.goto("/review");
    await page.getByRole("article", { name: "Escalation: bot-1" }).waitFor();
    const list = page.getByRole("region", { name: "Cases" });
    const told = list.locator("[aria-live=polite]");
    await told.evaluate((element) => element.setAttribute("data-same", "yes"));
    await approve();
    await focusOn(list);
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    await expect.poll(() => told.textContent()).toBe("No escalations");
    // A screen reader announces new text only in the same element.
    expect(await told.getAttribute("data-same")).toBe("yes");
    expect(await violations(page, { within: "[aria-label=Cases]" })).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("may be anywhere in a dialog when Ctrl+Enter confirms it, also after a click", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 1);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await enter(page.getByRole("button", { name: "Block b" }));
    const dialog = page.getByRole("dialog", { name: "Block this action" });
    await dialog.getByRole("heading").click();
    await focusOn(dialog);
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("goes from a group ruling to its progress, and from there to the list", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 1);
    for (const amount_usd of [700, 800])
      await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }, { agent: "bot-many" }));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await enter(page.getByRole("button", { name: "Rule on all 2" }));
    await page.locator(".entry", { hasText: "bot-many" }).first().waitFor();
    const dialog = page.getByRole("dialog");
    await enter(dialog.getByRole("button", { name: "Approve 2" }));
    const progress = dialog.getByRole("status");
    await expect.poll(() => progress.evaluate((element) => element.matches(":focus"))).toBe(true);
    await dialog.getByText("2 of 2 done").waitFor();
    await enter(dialog.getByRole("button", { name: "Close" }));
    await page.getByRole("button", { name: "Rule on all 2" }).waitFor({ state: "detached" });
    expect(await page.getByRole("region", { name: "Cases" }).evaluate((element) => element.matches(":focus"))).toBe(
      true,
    );
    expect(wrongs).toEqual([]);
  });
});

inBrowser("the focus on every other page", () => {
  test("returns from a dialog to the button that opened it, also after Escape", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 1);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    const pages = [
      ["/keys", "Create a key"],
      ["/membranes", "Return to shadow"],
      ["/review", "Approve a"],
    ] as const;
    await page.goto("/settings");
    for (const [path, name] of pages) {
      await follow(page, path);
      const button = page.getByRole("button", { name });
      await enter(button);
      await page.keyboard.press("Escape");
      await focusOn(button);
      await enter(button);
      await enter(page.getByRole("dialog").getByRole("button", { name: "Cancel" }));
      await focusOn(button);
    }
    expect(wrongs).toEqual([]);
  });

  test("stays on the list if its row or button disappears", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedQueue(console_.url, 0);
    const { session } = await console_.join(seeded.admin, "ann@example.com", "admin");
    await console_.join(seeded.admin, "bob@example.com", "reviewer");
    const made = (path: string, body: object) => api(console_.url, seeded.admin, "POST", path, body);
    await made("/v1/auth/invitations", { email: "cleo@example.com", role: "reviewer" });
    await made("/v1/escalations/webhooks", { url: "https://example.com/hook" });
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.export", { rows: 9_000 }));
    const { page, wrongs } = await console_.open({ session });
    const done = async (path: string, button: Locator, confirm: string | null, place: Locator, more?: Locator) => {
      await follow(page, path);
      if (more !== undefined) await enter(more);
      await enter(button);
      if (confirm !== null) await enter(page.getByRole("dialog").getByRole("button", { name: confirm }));
      await focusOn(place);
      await button.waitFor({ state: "detached" });
      await focusOn(place);
    };
    const region = (name: string) => page.getByRole("region", { name, exact: true });
    await page.goto("/settings");
    const invitations = region("Invitations");
    await done("/people", invitations.getByRole("button", { name: "Withdraw" }), null, invitations);
    const bob = page.getByRole("row").filter({ hasText: "bob@example.com" });
    await done("/people", bob.getByRole("button", { name: "Remove" }), "Remove", region("People"));
    const operator = page.getByRole("row").filter({ hasText: "operator key" });
    await done("/keys", operator.getByRole("button", { name: "Revoke" }), "Revoke", region("API keys"));
    const remove = page.getByRole("button", { name: "Delete" });
    const more = page.getByRole("row").getByText("More", { exact: true });
    await done("/webhooks", remove, "Delete", region("Webhooks"), more);
    await made(`/v1/intents/${intent_id}/override`, { reason: "seen" });
    const withdraw = page.getByRole("button", { name: "Withdraw" });
    await done("/overrides", withdraw, "Withdraw", region("Overrides"));
    const retire = page.getByRole("button", { name: "Retire" });
    await done(`/policies/${seeded.policy_id}`, retire, "Retire", region("In force"));
    expect(wrongs).toEqual([]);
  });
});
