/**
 * `npm run first-load`: measures the console from an empty cache to an interactive page. Only prints figures, because
 * they depend on the machine.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openContext, openPage, startChromium } from "./chromium.ts";
import { seedActivity, seedOrganization } from "./seed.ts";
import { startService } from "./started-service.ts";

const loads = 9;

/** Records when the page shows its figures, and when the last task over 50 ms before that ended. */
const watcher = `
  window.seen = { shown_ms: null, busy_until_ms: 0 };
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) window.seen.busy_until_ms = each.startTime + each.duration;
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver((_, observer) => {
    if (document.querySelector(".figure b") === null) return;
    window.seen.shown_ms = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });`;

/** Scripts that the page asks for after its figures arrived, such as those of the charts, are not part of the first load. */
const measured = `({
  first_paint_ms: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  shown_ms: window.seen.shown_ms,
  busy_until_ms: window.seen.busy_until_ms,
  script_bytes: performance.getEntriesByType("resource").filter((each) => each.name.endsWith(".js") && each.startTime < performance.getEntriesByType("resource").find(({ name }) => name.includes("/v1/overview?")).responseEnd).reduce((sum, each) => sum + each.encodedBodySize, 0),
})`;

interface Measured {
  readonly first_paint_ms: number;
  readonly shown_ms: number;
  readonly busy_until_ms: number;
  readonly script_bytes: number;
}

const data_dir = await mkdtemp(join(tmpdir(), "first-load-"));
const service = await startService(data_dir);
const browser = await startChromium();
try {
  const seeded = await seedOrganization(service.url);
  await seedActivity(service.url, seeded);
  const all: Measured[] = [];
  for (let load = 0; load < loads; load += 1) {
    const { page, context } = await openPage(await openContext(browser, service.url), service.url, {
      api_key: seeded.admin,
    });
    await page.addInitScript(watcher);
    await page.goto("/", { waitUntil: "load" });
    await page.locator(".figure b").first().waitFor();
    await page.waitForFunction("window.seen.shown_ms !== null");
    all.push(await page.evaluate<Measured>(measured));
    await context.close();
  }
  const row = (name: string, of: (each: Measured) => number) => {
    const sorted = all.map(of).sort((a, b) => a - b);
    const at = (share: number) =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
    console.log(`${name.padEnd(44)} median ${at(0.5)}, least ${at(0)}, most ${at(1)}`);
  };
  console.log(`The overview from an empty cache, ${loads} loads, milliseconds since navigation:`);
  row("first contentful paint", (each) => each.first_paint_ms);
  row("figures of the API on the page", (each) => each.shown_ms);
  row("interactive (those, and no long task after)", (each) => Math.max(each.shown_ms, each.busy_until_ms));
  row("bytes of JavaScript as sent", (each) => each.script_bytes);
} finally {
  await browser.close();
  await service.stop();
  await rm(data_dir, { recursive: true, force: true, maxRetries: 5 });
}
