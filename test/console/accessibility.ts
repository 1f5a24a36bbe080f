/** Finds broken accessibility rules, and content wider than the screen. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { follow } from "./chromium.ts";

export async function openLoaded(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await loaded(page);
}

/** Same as `openLoaded`, for a page that already shows the console: see `follow`. */
export async function followLoaded(page: Page, path: string): Promise<void> {
  await follow(page, path);
  await loaded(page);
}

/** Places of data and charts that have not arrived. */
const loading = ".skeleton, .chart-place";

/**
 * Makes the window as high as the content, and waits until everything is loaded. Some parts load when they are seen, and
 * each of them makes the page higher. Sticky elements stay at the window's edge.
 */
export async function showWhole(page: Page, { width, height }: { width: number; height: number }): Promise<void> {
  const grow = async () => {
    const content = Number(await page.evaluate("document.documentElement.scrollHeight"));
    await page.setViewportSize({ width, height: Math.max(height, content) });
  };
  await grow();
  while ((await page.locator(loading).count()) > 0) await grow();
  await grow();
}

async function loaded(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(loading).first().waitFor({ state: "detached" });
}

const colours = "color-contrast";

/**
 * Marks one text for each combination of colour, size and background, because checking every row of a table takes ten
 * times as long.
 */
const mark_texts = `{
  const places = new Map();
  const placeOf = (element) => {
    if (element === null) return "";
    if (!places.has(element)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
      places.set(element, [placeOf(element.parentElement), backgroundColor, backgroundImage, opacity].join());
    }
    return places.get(element);
  };
  const hasText = (element) =>
    element.matches("input, select, textarea") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
  const kinds = new Set();
  for (const element of document.querySelectorAll("body *")) {
    element.removeAttribute("data-text-kind");
    if (!hasText(element) || !element.checkVisibility() || element.getBoundingClientRect().width <= 1) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const kind = [color, fontSize, fontWeight, placeOf(element)].join();
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    element.setAttribute("data-text-kind", "");
  }
}`;

interface Part {
  readonly within?: string;
}

/** Loads axe into a page once, because loading takes longer than most checks. */
async function addAxe(page: Page): Promise<void> {
  if (await page.evaluate<boolean>("'axe' in window")) return;
  // Legacy mode opens no second page for findings in frames: the console has no frames.
  await new AxeBuilder({ page }).setLegacyMode().withRules("document-title").analyze();
  await page.evaluate(`axe.configure({ rules: [{ id: "${colours}", selector: "[data-text-kind]" }] })`);
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

async function run(page: Page, { within = "html" }: Part, options: object): Promise<string[]> {
  await addAxe(page);
  await page.evaluate(mark_texts);
  const [context, asked] = [{ include: [[within]] }, { ...options, resultTypes: ["violations"] }];
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(${JSON.stringify(context)}, ${JSON.stringify(asked)})`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
}

export function violations(page: Page, part: Part = {}): Promise<string[]> {
  return run(page, part, {});
}

/** Same as `violations`, without colour rules. */
export function structureViolations(page: Page, part: Part = {}): Promise<string[]> {
  return run(page, part, { rules: { [colours]: { enabled: false } } });
}

/** Checks light and dark mode; only the colour rules run again. */
export async function violationsInBoth(page: Page, part: Part = {}): Promise<string[]> {
  const in_light = await violations(page, part);
  await page.emulateMedia({ colorScheme: "dark" });
  const in_dark = await run(page, part, { runOnly: { type: "rule", values: [colours] } });
  await page.emulateMedia({ colorScheme: "light" });
  return [...in_light, ...in_dark.map((each) => `in dark: ${each}`)];
}

export const in_dialog = { within: "dialog[open]" } as const;

/** Returns the elements that widen the page. Content that scrolls in its own frame does not count. */
export function sidewaysOf(page: Page): Promise<string[]> {
  return page.evaluate(`
    document.documentElement.scrollWidth <= innerWidth ? [] : ["page " + document.documentElement.scrollWidth,
      ...[...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.closest(".scroll, .json, .snippet") === null)
      .map((each) => each.tagName + "." + each.className + " " + Math.round(each.getBoundingClientRect().right))]`);
}

/**
 * Returns what is cut off: texts of charts that reach out of their chart, and tables that are wider than their place. The
 * matrix of a backtest may scroll.
 */
export function cutOffIn(page: Page): Promise<string[]> {
  return page.evaluate(`
    [...document.querySelectorAll(".scroll")]
      .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.querySelector(".matrix") === null)
      .map((each) => "cut off: a table of " + each.querySelector("th")?.textContent + ", " + each.scrollWidth + " px in " + each.clientWidth)
    .concat([...document.querySelectorAll(".chart text")].filter((each) => {
      const [text, chart] = [each.getBoundingClientRect(), each.closest("svg").getBoundingClientRect()];
      return text.left < chart.left - 1 || text.right > chart.right + 1 || text.bottom > chart.bottom + 1;
    }).map((each) => "cut off: " + each.textContent))`);
}
