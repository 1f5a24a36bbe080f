/** What makes a page hard to use: broken rules of accessibility, and what does not fit the screen. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { patience_ms } from "./chromium.ts";

/** Opens a page and waits until everything on it has loaded. */
export async function openLoaded(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => page.locator(".skeleton").count(), { timeout: patience_ms }).toBe(0);
}

/** The rules that axe finds broken, with the elements that break them. */
export async function violations(page: Page): Promise<string[]> {
  return (await new AxeBuilder({ page }).analyze()).violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`,
  );
}

/** The elements that make the page itself wider than the screen; what scrolls in a frame of its own does not. */
export function sidewaysOf(page: Page): Promise<string[]> {
  return page.evaluate(`
    document.documentElement.scrollWidth <= innerWidth ? [] : ["page " + document.documentElement.scrollWidth,
      ...[...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.closest(".scroll, .json, .snippet") === null)
      .map((each) => each.tagName + "." + each.className + " " + Math.round(each.getBoundingClientRect().right))]`);
}
