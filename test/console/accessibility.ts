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

const colours = "color-contrast";

/** The rules that axe finds broken, with the elements that break them; `about`: only those on colours, or all others. */
export async function violations(page: Page, about?: "colours" | "all but colours"): Promise<string[]> {
  // Without a page of its own to put the findings of frames together in: the console has none. That was half of its time.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  if (about === "colours") axe.withRules(colours);
  if (about === "all but colours") axe.disableRules(colours);
  return (await axe.analyze()).violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`,
  );
}

/** As `violations`, in light and in dark, between which only colours differ. */
export async function violationsInBoth(page: Page): Promise<string[]> {
  const in_light = await violations(page);
  await page.emulateMedia({ colorScheme: "dark" });
  const in_dark = await violations(page, "colours");
  await page.emulateMedia({ colorScheme: "light" });
  return [...in_light, ...in_dark.map((each) => `in dark: ${each}`)];
}

/** The elements that make the page itself wider than the screen; what scrolls in a frame of its own does not. */
export function sidewaysOf(page: Page): Promise<string[]> {
  return page.evaluate(`
    document.documentElement.scrollWidth <= innerWidth ? [] : ["page " + document.documentElement.scrollWidth,
      ...[...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.closest(".scroll, .json, .snippet") === null)
      .map((each) => each.tagName + "." + each.className + " " + Math.round(each.getBoundingClientRect().right))]`);
}
