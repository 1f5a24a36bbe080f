import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { followLoaded, in_dialog, openLoaded, sidewaysOf, structureViolations, violations } from "./accessibility.ts";
import { builtConsole } from "./built-console.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedActivity, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

const first_load_bytes_max = 160 * 1024;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

test("the first load takes at most 160 KB of compressed JavaScript, and the editor is not in it", async () => {
  const files = await builtConsole();
  const manifest = JSON.parse(String(files.get("/manifest.json"))) as Record<string, Chunk>;
  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry === true) as string;
  const loaded = new Set<string>();
  const load = (name: string) => {
    const chunk = manifest[name] as Chunk;
    if (loaded.has(chunk.file)) return;
    loaded.add(chunk.file);
    for (const each of chunk.imports ?? []) load(each);
  };
  load(entry);
  // The landing page is part of the first load.
  load("src/pages/overview.tsx");
  const bytes = [...loaded].reduce((sum, file) => sum + gzipSync(files.get(`/${file}`) as Buffer).length, 0);
  expect(bytes).toBeLessThanOrEqual(first_load_bytes_max);
  expect([...loaded].join()).not.toMatch(/editor/);
  expect(String(files.get("/index.html"))).not.toMatch(/<script(?![^>]* src=)|<style|style=| on\w+=/);
});

inBrowser("every page", () => {
  let seeded: Seeded;
  let escalation = "";
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    await seedActivity(console_.url, seeded);
    const first = async (path: string, list: string, id: string) =>
      (await api<Record<string, Record<string, string>[]>>(console_.url, seeded.admin, "GET", path))[list]?.[0]?.[id];
    const escalation_id = await first("/v1/escalations?status=pending", "escalations", "escalation_id");
    escalation = `/escalations/${escalation_id}`;
  }, test_timeout_ms);

  test("is reached by the menu of a narrow screen", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, width: 360, height: 740 });
    await openLoaded(page, "/");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Usage" }).click();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("shows that it loads within a tenth of a second", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await openLoaded(page, "/");
    let arrive = () => {};
    const held = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await page.route("**/assets/packs-*.js", async (route) => {
      await held;
      await route.continue();
    });
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByRole("link", { name: "Packs", exact: true }).click();
    await page.clock.runFor(100);
    await page.getByText("Loading the page …").waitFor({ state: "attached" });
    arrive();
    await page.clock.resume();
    await page.getByRole("heading", { level: 1, name: "Packs" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("names its current theme, wherever that was chosen", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, own: true });
    await page.goto("/settings");
    const field = page.getByLabel("Theme", { exact: true });
    const shown = () => page.locator("html").getAttribute("data-theme");
    await field.selectOption("Dark");
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(await shown()).toBe("dark");
    await page.getByRole("button", { name: "Theme: dark" }).click();
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).waitFor();
    expect(await field.inputValue()).toBe("light");
    expect(await shown()).toBe("light");
    expect(wrongs).toEqual([]);
  });

  test("has no violation in its dialogs", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await openLoaded(page, "/");
    for (const [path, button] of [
      ["/keys", "Create a key"],
      ["/webhooks", "Add a webhook"],
      ["/membranes", "Add a membrane"],
      ["/review", "Keyboard"],
      [escalation, "With changes m"],
      [escalation, "Reassign"],
    ] as const) {
      await followLoaded(page, path);
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("dialog").waitFor();
      expect(await violations(page, in_dialog), button).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    expect(wrongs).toEqual([]);
  });

  test("shows an unknown address inside the frame, with the menu and a link to the overview", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await openLoaded(page, "/login/again");
    for (const path of ["/login/again", "/no-such-page", "/escalations/a/b"]) {
      await followLoaded(page, path);
      await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
      expect(await page.title()).toBe("There is no such page · Countersign");
      await page.getByRole("navigation", { name: "Main" }).waitFor();
    }
    await page.getByRole("link", { name: "To the overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test.each([
    ["operator", ["Backtest", "Webhooks", "People", "Audit"], ["API keys"]],
    ["auditor", ["Backtest", "People", "Audit"], ["API keys", "Webhooks"]],
    ["reviewer", ["Backtest"], ["API keys", "Webhooks", "People", "Audit"]],
    ["agent", ["Decisions"], ["Overview", "Backtest", "API keys", "Webhooks", "People", "Audit"]],
  ] as const)(
    "gives every %s links only to readable pages",
    {
      timeout: test_timeout_ms,
    },
    async (role, led, not_led) => {
      const { page, wrongs } = await console_.open({ api_key: seeded[role] });
      const refused: string[] = [];
      page.on("response", (response) => void (response.status() === 403 && refused.push(response.url())));
      await page.goto("/settings");
      const links = page.getByRole("navigation", { name: "Main" }).getByRole("link");
      await links.first().waitFor();
      const names = (await links.allTextContents()).map((text) => text.replace(/\d+\+?$/, ""));
      expect(names).toEqual(expect.arrayContaining([...led]));
      for (const name of not_led) expect(names).not.toContain(name);
      for (const path of await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? "")))
        await followLoaded(page, path);
      expect(refused).toEqual([]);
      expect(wrongs).toEqual([]);
    },
  );

  test("fits a screen of 320 px, also with errors and unfolded parts", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, width: 320, height: 640 });
    const attempt = { number: 1, at: "2026-01-01T00:00:00.000000Z", response_status: 500, duration_ms: 9_999 };
    const again = [null, "pending", "delivered", "failed", "cancelled"];
    const deliveries = again.map((status, n) => ({
      delivery_id: `dlv_0${n + 1}`,
      status: "failed",
      latest_retry: status === null ? null : { delivery_id: "dlv_09", status },
      webhook_id: "wh_01",
      event_type: "decision.escalated",
      intent_id: null,
      escalation_id: null,
      response_status: 500,
      error: "status",
      attempts: [{ ...attempt, error: "the receiver answered something that is no success" }],
      created_at: attempt.at,
      failed_at: attempt.at,
      original_delivery_id: null,
    }));
    await page.route("**/v1/escalations/webhooks/deliveries/failed*", (route) =>
      route.fulfill({ json: { deliveries, next_cursor: null } }),
    );
    const broken = async () => [...(await sidewaysOf(page)), ...(await structureViolations(page))];
    await openLoaded(page, "/webhooks");
    await page.getByText("1 attempt: 500").last().waitFor();
    for (const each of await page.getByText("1 attempt: 500").all()) await each.click();
    await page.getByRole("table", { name: "Attempts of dlv_05" }).waitFor();
    expect(await page.getByText("sent again:").allTextContents()).toEqual([
      ...["sent again: in progress", "sent again: delivered", "sent again: failed"],
      "sent again: cancelled with its webhook",
    ]);
    const sendAgain = page.getByRole("button", { name: "Send again" });
    const enabled = await Promise.all(again.map((_, n) => sendAgain.nth(n).isEnabled()));
    expect(enabled).toEqual(again.map((status) => status !== "pending"));
    expect(await broken()).toEqual([]);
    await followLoaded(page, "/packs");
    await page.locator("summary").first().click();
    expect(await broken()).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
