import { expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

interface Planned {
  readonly rollout: { readonly returns_holds_itself: boolean };
}

inBrowser("a rollout", () => {
  test("is planned with its setting, shows what its guard saw, and goes on only for a reason after a breach", {
    timeout: test_timeout_ms,
  }, async () => {
    const { admin } = await seedOrganization(console_.url);
    const { membranes } = await api<{ membranes: { membrane_id: string }[] }>(
      ...([console_.url, admin, "GET", "/v1/membranes"] as const),
    );
    const of = `/v1/membranes/${membranes[0]?.membrane_id}`;
    const { page, wrongs } = await console_.open({ api_key: admin });
    await page.goto("/membranes");
    const membrane = page.getByRole("region", { name: "default" });
    const dialog = page.getByRole("dialog");
    await membrane.getByRole("button", { name: "Enforce for 5 % of agents" }).click();
    await dialog.getByLabel("Return holds to shadow when the guard finds too many").check();
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Plan the rollout" }).click();
    await membrane.getByText("The guard returns holds to shadow when it finds too many.").waitFor();
    const planned = await api<Planned>(console_.url, admin, "GET", `${of}/rollout`);
    expect(planned.rollout.returns_holds_itself).toBe(true);

    await api(console_.url, admin, "POST", `${of}/go-live`, {});
    const counts = { days: 0.5, decisions: 500, holds: 200, blocks: 40, overridden: 3, reviews: 9, timed_out: 0 };
    const breaches = [{ limit: "holds_per_day_max", message: "200 actions were held on 1 day." }];
    await console_.database.db.query(
      `update rollouts set status = 'stopped', holds_stage = 0, counted_from = now(), run_from = now(), counts = $2, run_counts = $2,
         breaches = $3 where membrane_id = $1`,
      [membranes[0]?.membrane_id, JSON.stringify(counts), JSON.stringify(breaches)],
    );
    await page.reload();
    await membrane.getByText("The guard stopped this rollout.").waitFor();
    const shown = (await membrane.textContent()) ?? "";
    for (const text of [
      "200 actions were held on 1 day.",
      "The guard returned holds to shadow. Blocks stay enforced.",
      "Held now: 0 % of registered agents.",
      "stops above 50 a day. Evidence: 100 %",
      "3 of 40",
    ])
      expect(shown).toContain(text);
    expect(await violations(page)).toEqual([]);
    await membrane.getByRole("button", { name: "Hold again" }).click();
    await dialog.getByLabel("Reason").fill("The rule is mended.");
    await dialog.getByRole("button", { name: "Go on" }).click();
    await page.getByText("The rollout goes on").waitFor();
    await membrane.getByText("The guard stopped this rollout.").waitFor({ state: "detached" });
    expect(wrongs).toEqual([]);
  });
});
