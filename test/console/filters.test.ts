import type { Webhook } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { followLoaded, openLoaded, sidewaysOf } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("a filter", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  test("that is typed applies on blur or Enter, is dropped by the menu's link, and does not come back", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    const search = () => new URL(page.url()).search;
    await openLoaded(page, "/review?agent_id=bot-5");
    for (const [path, name, label, menu] of [
      ["/review", "agent_id", "Agent", "Review queue"],
      ["/decisions", "agent_id", "Agent", "Decisions"],
      ["/backtest", "agent_id", "Agent", "Backtest"],
      ["/budgets", "agent_id", "Agent", "Budgets"],
    ] as const) {
      const field = page.getByLabel(label, { exact: true });
      await followLoaded(page, `${path}?${name}=bot-5`);
      expect(await field.inputValue(), path).toBe("bot-5");
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: menu }).click();
      await expect.poll(search).toBe("");
      await expect.poll(() => field.inputValue()).toBe("");
      await field.focus();
      await page.keyboard.press("Tab");
      expect(search(), path).toBe("");

      await field.fill(" bot-6 ");
      await page.keyboard.press("Enter");
      await expect.poll(search).toBe(`?${name}=bot-6`);
      await expect.poll(() => field.inputValue()).toBe("bot-6");
      // The field keeps the focus after Enter, so typing continues the text.
      await page.keyboard.type("7");
      await page.keyboard.press("Tab");
      await expect.poll(search).toBe(`?${name}=bot-67`);
    }
    expect(wrongs).toEqual([]);
  });

  test("from a list shows the value of the address, even an unlisted one, and can be removed", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/settings");
    const membrane = "mem_01KAAAAAAAAAAAAAAAAAAAAAAA";
    for (const [address, label, value, none] of [
      [
        "/review?reviewer=user%3Ausr_01KAAAAAAAAAAAAAAAAAAAAAAA",
        "For",
        "user:usr_01KAAAAAAAAAAAAAAAAAAAAAAA",
        "Everybody",
      ],
      ["/review?mode=shadow", "Mode", "shadow", "Live"],
      [`/backtest?membrane_id=${membrane}`, "Membrane", membrane, "All"],
      ["/decisions?mode=nonsense", "Mode", "nonsense", "All"],
    ] as const) {
      await followLoaded(page, address);
      const select = page.getByLabel(label, { exact: true });
      expect(await select.inputValue()).toBe(value);
      await select.selectOption(none);
      await expect.poll(() => new URL(page.url()).search).toBe("");
      expect(await select.inputValue()).toBe("");
    }
    for (const span of ["constructor", "year"]) {
      await followLoaded(page, `/?span=${span}`);
      await page.getByText("No decisions in this time").waitFor();
      expect(await page.getByLabel("Time", { exact: true }).inputValue()).toBe("day");
    }
    expect(wrongs).toEqual([]);
  });

  test("of a receiver appears if several may have failed, however long their addresses are", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, width: 320, height: 640 });
    const select = page.getByLabel("Receiver", { exact: true });
    const ids: string[] = [];
    for (const url of ["https://93.184.216.34/a", `https://93.184.216.34/${"b".repeat(300)}`]) {
      await openLoaded(page, "/webhooks");
      expect(await select.count()).toBe(0);
      const made = await api<{ webhook: Webhook }>(
        ...([console_.url, seeded.admin, "POST", "/v1/escalations/webhooks", { url }] as const),
      );
      ids.push(made.webhook.id);
    }
    await openLoaded(page, "/webhooks");
    await select.selectOption(ids[1] as string);
    await expect.poll(() => new URL(page.url()).search).toBe(`?webhook_id=${ids[1]}`);
    await page.getByText("No delivery to this receiver failed").waitFor();
    expect(await sidewaysOf(page)).toEqual([]);
    await select.selectOption("All");
    await page.getByText("Nothing failed").waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(wrongs).toEqual([]);
  });

  test("of a time is the same for everybody, shown in their own time zone", {
    timeout: test_timeout_ms,
  }, async () => {
    const inZone = (zone: string) => console_.open({ api_key: seeded.admin, zone });
    const [here, there] = [await inZone("Asia/Kathmandu"), await inZone("America/St_Johns")];
    for (const { page } of [here, there]) await page.goto("/settings");
    for (const path of ["/decisions", "/audit"]) {
      await followLoaded(here.page, path);
      await here.page.getByLabel("From", { exact: true }).fill("2026-11-22T10:00");
      await expect.poll(() => new URL(here.page.url()).search).toBe("?from=2026-11-22T04%3A15%3A00.000Z");
      await followLoaded(there.page, new URL(here.page.url()).pathname + new URL(here.page.url()).search);
      expect(await there.page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-11-22T00:45");
      // A year that is typed digit by digit is ancient at first. Time zones then had offsets in seconds.
      for (const text of ["0002-03-04T05:06", "0020-03-04T05:06"]) {
        await there.page.getByLabel("From", { exact: true }).fill(text);
        await expect.poll(() => there.page.getByLabel("From", { exact: true }).inputValue()).toBe(text);
      }
    }
    expect([here.wrongs, there.wrongs]).toEqual([[], []]);
  });

  test("of a time shows only that time's audit rows, and is removed with all others", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    const { audit } = await api<{ audit: { seq: number; at: string }[] }>(
      ...([console_.url, seeded.admin, "GET", "/v1/audit?limit=200"] as const),
    );
    const [newest] = audit;
    const shown = () => page.getByRole("table").locator("tbody tr > td:first-child").allInnerTexts();
    const place = `/audit?from=${newest?.at}`;
    await openLoaded(page, place);
    const first = newest?.at.slice(0, 23) ?? "";
    await expect.poll(shown).toEqual(audit.filter(({ at }) => at >= first).map(({ seq }) => String(seq)));
    await followLoaded(page, "/audit?type=decided&to=2020-01-01T00:00:00Z");
    await page.getByText("No such rows").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => new URL(page.url()).search).toBe("");
    await expect.poll(async () => (await shown())[0]).toBe(String(newest?.seq));
    expect(await page.getByRole("button", { name: "Clear" }).count()).toBe(0);
    expect(wrongs).toEqual([]);
  });
});
