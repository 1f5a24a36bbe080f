import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { openLoaded, violationsInBoth } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

/** The focused element: its name, its place on the page, and whether a reader sees that it has the focus. */
interface Focused {
  readonly name: string;
  readonly top: number;
  readonly visible: boolean;
}

function focused(page: Page): Promise<Focused> {
  return page.evaluate(`(() => {
    const element = document.activeElement;
    const { top } = element.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return {
      name: element.getAttribute("aria-label") ?? element.textContent.trim(),
      top: Math.round(top + scrollY),
      visible: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
    };
  })()`);
}

inBrowser("the keyboard", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    const url = "https://hooks.acme.example/countersign";
    await api(console_.url, seeded.admin, "POST", "/v1/escalations/webhooks", { url });
  }, test_timeout_ms);

  test("lists the keys on every page with one key, and in text fields that key is a letter", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await openLoaded(page, "/");
    const help = page.getByRole("dialog", { name: "Keyboard" });
    for (const path of ["/", "/review", "/decisions", "/usage", "/settings"]) {
      await follow(page, path);
      await page.keyboard.press("?");
      await help.getByText("go to a page, an agent, a policy or a decision").waitFor();
      if (path === "/") expect(await violationsInBoth(page, { within: "dialog[open]" })).toEqual([]);
      await page.keyboard.press("Escape");
      await help.waitFor({ state: "hidden" });
    }
    await follow(page, "/packs");
    await page.getByLabel("Search rules and citations").focus();
    await page.keyboard.type("what?");
    expect(await page.getByLabel("Search rules and citations").inputValue()).toBe("what?");
    expect(await help.count()).toBe(0);
    expect(wrongs).toEqual([]);
  });

  test("reaches everything on a page from top to bottom, and shows where the focus is", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, width: 1440 });
    await openLoaded(page, "/keys");
    const names: string[] = [];
    let row = 0;
    await page.getByRole("main").focus();
    for (;;) {
      await page.keyboard.press("Tab");
      const at = await focused(page);
      if (names.length > 0 && !(await page.evaluate("document.querySelector('main').contains(document.activeElement)")))
        break;
      expect(at.visible, at.name).toBe(true);
      expect(at.top, at.name).toBeGreaterThanOrEqual(row - 24);
      row = at.top;
      names.push(at.name);
    }
    expect(names[0]).toBe("Create a key");
    expect(names.filter((name) => name === "Revoke")).toHaveLength(5);
    expect(wrongs).toEqual([]);
  });

  test("stays inside an open dialog", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await openLoaded(page, "/keys");
    await page.getByRole("button", { name: "Create a key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    const inside = await page.getByRole("dialog").locator("input, select, textarea, button, summary").count();
    for (let step = 0; step < inside + 3; step += 1) {
      await page.keyboard.press("Tab");
      const outside = await page.evaluate(
        "document.activeElement.closest('#main > .stack > :not(dialog)') !== null && document.activeElement.closest('dialog') === null",
      );
      expect(outside).toBe(false);
    }
    expect(wrongs).toEqual([]);
  });

  test("moves through a menu with the arrow keys, and back to its button with Escape", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await openLoaded(page, "/webhooks");
    await page.locator("summary", { hasText: "More" }).first().focus();
    const visited: string[] = [];
    for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp"]) {
      await page.keyboard.press(key);
      visited.push((await focused(page)).name);
    }
    expect(visited).toEqual(["Replay", "New secret", "Replay", "Delete"]);
    await page.keyboard.press("Escape");
    expect((await focused(page)).name).toBe("More");
    expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    expect(wrongs).toEqual([]);
  });
});
