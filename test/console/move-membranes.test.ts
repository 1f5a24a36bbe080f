import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import type { Person } from "./people.ts";
import { api, intent, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("a membrane that goes live and returns", () => {
  let seeded: Seeded;
  let people: readonly Person[];
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    people = [
      await console_.join(seeded.admin, "ada@example.com", "admin"),
      await console_.join(seeded.admin, "ben@example.com", "admin"),
    ];
  }, test_timeout_ms);

  test("needs its name, a reason and two admins, once the settings say so", { timeout: test_timeout_ms }, async () => {
    const { membrane } = await api<{ membrane: { membrane_id: string } }>(
      ...([console_.url, seeded.admin, "POST", "/v1/membranes", { name: "payments" }] as const),
    );
    const [ada, ben] = await Promise.all(people.map(({ session }) => console_.open({ session })));
    if (ada === undefined || ben === undefined) throw new Error("there are two of them");
    await ada.page.goto("/membranes");
    const settings = ada.page.getByRole("region", { name: "Before a membrane goes live" });
    for (const label of ["An admin must type its name", "A second admin must confirm"]) {
      await settings.getByLabel(label).click();
      await expect.poll(() => settings.getByLabel(label).isChecked()).toBe(true);
    }
    const cardOf = (of: typeof ada) => of.page.getByRole("region", { name: "payments", exact: true });
    await cardOf(ada).getByRole("button", { name: "Go live" }).click();
    const dialog = ada.page.getByRole("dialog");
    await dialog.getByLabel("Name of the membrane").fill("payments");
    await dialog.getByLabel("Reason").fill("Two good weeks");
    expect(await violations(ada.page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Go live" }).click();
    await cardOf(ada).getByText("asked to take it live").waitFor();

    await ben.page.goto("/membranes");
    await cardOf(ben).getByText("Two good weeks").waitFor();
    await cardOf(ben).getByRole("button", { name: "Confirm: Go live" }).click();
    await ben.page.getByRole("dialog").getByLabel("Name of the membrane").fill("payments");
    await ben.page.getByRole("dialog").getByRole("button", { name: "Go live" }).click();
    await cardOf(ben).getByText("live", { exact: true }).waitFor();

    await cardOf(ben).getByRole("button", { name: "Return to shadow" }).click();
    await ben.page.getByRole("dialog").getByLabel("Reason").fill("It holds too much");
    await ben.page.getByRole("dialog").getByRole("button", { name: "Return to shadow" }).click();
    await cardOf(ben).getByText("asked to return it to shadow").waitFor();
    const path = `/v1/membranes/${membrane.membrane_id}`;
    expect(await api(console_.url, seeded.admin, "GET", path)).toMatchObject({
      membrane: { status: "live", requested_move: { to: "shadow", reason: "It holds too much" } },
    });
    expect([...ada.wrongs, ...ben.wrongs]).toEqual([]);
  });

  test("lets a reviewer label its holds with one key each", { timeout: test_timeout_ms }, async () => {
    const fresh = await seedOrganization(console_.url);
    for (const rows of [1, 2, 3]) {
      const held = intent("other.export", { rows: 9_000 + rows });
      await submit(console_.url, fresh.agent, held);
    }
    const { page, wrongs } = await console_.open({ api_key: fresh.admin });
    await page.goto("/overview");
    await follow(page, "/membranes");
    const card = page.getByRole("region", { name: "default", exact: true });
    await card.getByRole("button", { name: "Label 3 holds" }).click();
    await page.getByText("1 of 3").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    for (const [key, next] of [
      ["r", "2 of 3"],
      ["w", "3 of 3"],
      ["s", "That was all 3. You called 1 wrong."],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByText(next).waitFor();
    }
    await page.keyboard.press("Escape");
    await card.getByRole("button", { name: "Label 1 more hold" }).waitFor();
    await card.getByText("1 of 2 labelled").waitFor();
    expect(wrongs).toEqual([]);
  });
});
