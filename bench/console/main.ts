/** Measures when each page of the console shows its first content, with a long history behind it. */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { openContext, openPage, startChromium } from "../../test/console/chromium.ts";
import { api } from "../../test/console/seed.ts";
import { type Served, withHistory } from "../history/with-history.ts";
import { median } from "../median.ts";

const help = `usage: npm run bench -- console [options]

  --decisions N    of the history (default 1000000; 2.4 KB of disk each)
  --loads N        of each page; the table has the median and the slowest (default 5)
  --json FILE      also write the figures as JSON
  --directory DIR  where the database is made (default: the folder for temporary files)

Run it on a quiet machine: the service, PostgreSQL and the browser share its cores.`;

const { values: options } = parseArgs({
  options: {
    decisions: { type: "string", default: "1000000" },
    loads: { type: "string", default: "5" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const goal_ms = 1_000;
const wait_max_ms = 30_000;

/** Pages without data of the organization, and addresses that lead elsewhere. */
const notMeasured = new Set([
  ...["/welcome", "/login", "/sso/callback/$org_id", "/signup", "/verify-email", "/forgot-password", "/reset-password"],
  ...["/unsubscribe", "/v1/unsubscribe", "/invitation", "/escalations", "/$", "/policies/$policy_id"],
]);

/**
 * Notes when the page has its heading and nothing on the screen is still loading. The last such moment counts, because
 * parts may begin to load after their neighbours.
 */
const watcher = `
  window.first_content_ms = null;
  new MutationObserver(() => {
    const loads = [...document.querySelectorAll("main .skeleton, main .chart-place")]
      .some((each) => each.getBoundingClientRect().top < innerHeight);
    if (document.querySelector("main h1") === null || loads) window.first_content_ms = null;
    else window.first_content_ms ??= performance.now();
  }).observe(document, { childList: true, subtree: true });`;

async function addressesOf({ url, api_key, agent }: Served): Promise<Record<string, string>> {
  const first = async (path: string, list: string, id: string) => {
    const rows = (await api<Record<string, Record<string, string>[]>>(url, api_key, "GET", path))[list];
    return rows?.[0]?.[id] ?? "";
  };
  const intent_id = await first("/v1/intents?verdict=block&limit=1", "intents", "intent_id");
  const escalation_id = await first("/v1/escalations?status=pending&limit=1", "escalations", "escalation_id");
  const run = new URLSearchParams({ session_id: "none", at: new Date().toISOString() });
  return {
    "/escalations/$escalation_id": `/escalations/${escalation_id}`,
    "/decisions/$intent_id": `/decisions/${intent_id}`,
    "/decisions/$intent_id/print": `/decisions/${intent_id}/print`,
    "/agent": `/agent?id=${agent}`,
    "/run": `/run?${run}`,
  };
}

async function firstContentMs(page: Page, path: string): Promise<number> {
  for (let waited_ms = 0; waited_ms < wait_max_ms; waited_ms += 50) {
    const found = await page.evaluate<number | null>("window.first_content_ms");
    if (found !== null) return found;
    await sleep(50);
  }
  throw new Error(`${path} still loads after ${wait_max_ms} ms: ${await page.locator("main").textContent()}`);
}

/** Loads a page with a filled browser cache, as at a second visit, and returns the time from navigation to content. */
async function load(browser: Browser, { url, api_key }: Served, path: string, times: number): Promise<number[]> {
  const context = await openContext(browser, url);
  const measured: number[] = [];
  for (let n = 0; n <= times; n += 1) {
    const { page } = await openPage(context, url, { api_key, width: 1440, height: 900 });
    await page.addInitScript(watcher);
    await page.goto(path);
    await page.waitForLoadState("networkidle");
    measured.push(await firstContentMs(page, path));
    await page.close();
  }
  await context.close();
  return measured.slice(1);
}

async function measure(served: Served) {
  const browser = await startChromium();
  try {
    const given = await addressesOf(served);
    const { page, context } = await openPage(await openContext(browser, served.url), served.url, served);
    await page.goto("/settings");
    await page.getByRole("heading", { level: 1 }).waitFor();
    const routes = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
    await context.close();
    const rows: object[] = [];
    for (const route of routes.filter((each) => !notMeasured.has(each))) {
      const all = await load(browser, served, given[route] ?? route, Number(options.loads));
      const [median_ms, slowest_ms] = [Math.round(median(all)), Math.round(Math.max(...all))];
      rows.push({ page: route, median_ms, slowest_ms, within: median_ms <= goal_ms ? "" : `over ${goal_ms} ms` });
      console.error(`${route}: ${median_ms} ms`);
    }
    return rows;
  } finally {
    await browser.close();
  }
}

async function main(): Promise<void> {
  const decisions = Number(options.decisions);
  const rows = await withHistory({ decisions, directory: options.directory }, measure);
  console.table(rows);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ decisions, rows }, null, 2)}\n`);
}

if (options.help) console.log(help);
else await main();
