import { expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, seedLive, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

interface Decided {
  readonly decision: { readonly outcome: string | null; readonly enforced: boolean; readonly status: string };
}

inBrowser("going live", () => {
  test("a membrane's shadow report says what it would have held; once live it really holds intents", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    const refund = (amount_usd: number) => submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }));
    const dump = () => submit(console_.url, seeded.agent, intent("other.export", { rows: 20_000 }));
    const decided = async (intent_id: string) =>
      (await api<Decided>(console_.url, seeded.agent, "GET", `/v1/intents/${intent_id}/decision`)).decision;
    for (const amount_usd of [40, 740, 760]) await refund(amount_usd);
    const watched = await dump();
    await submit(console_.url, seeded.agent, intent("other.discount", { percent: 55 }));
    expect(await decided(watched.intent_id)).toMatchObject({ enforced: false });

    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    const membrane = page.getByRole("region", { name: "default" });
    await membrane.getByRole("heading", { name: "Actions it would have stopped in the last 31 days" }).waitFor();
    await membrane.getByText("Of 5 actions it would have blocked 1, asked a person about 2, and changed 1.").waitFor();
    await membrane.getByText("large-refunds").waitFor();
    await membrane.getByText("5 decisions in shadow in the last 31 days. 200 are needed.").waitFor();
    await membrane.getByRole("button", { name: "Label 3 holds" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await membrane.getByRole("link", { name: "blocked 1", exact: true }).click();
    await page.getByRole("heading", { name: "Decisions", exact: true }).waitFor();
    const rows = page.getByRole("region", { name: "Decisions" }).getByRole("row");
    await page.getByText("1 shown, all").waitFor();
    expect(await rows.count()).toBe(2);
    const chosen = page.getByLabel("Membrane", { exact: true });
    await expect.poll(() => chosen.locator("option:checked").textContent()).toBe("default");
    const elsewhere = { membrane_id: "mem_01KAAAAAAAAAAAAAAAAAAAAAAA" };
    expect(
      (
        await api<{ intents: unknown[] }>(
          console_.url,
          seeded.admin,
          "GET",
          `/v1/intents?${new URLSearchParams(elsewhere)}`,
        )
      ).intents,
    ).toEqual([]);
    await follow(page, "/review");
    await page.getByText("Shadow: nothing is held").waitFor();
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();

    await follow(page, "/membranes");
    await membrane.getByRole("button", { name: "Go live" }).click();
    await page.getByRole("dialog").getByText("It is not ready yet:").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Go live" }).click();
    await page.getByText("Live: its decisions are enforced from now on").waitFor();
    await membrane.getByRole("button", { name: "Return to shadow" }).waitFor();
    const held = await refund(910);
    expect(await decided(held.intent_id)).toMatchObject({ enforced: true, status: "pending", outcome: null });
    const stopped = await dump();
    expect(await decided(stopped.intent_id)).toMatchObject({ enforced: true, outcome: "block" });
    await follow(page, "/review");
    await page.getByRole("article", { name: "Escalation" }).getByText("The refund of 910 USD").waitFor();
    expect(await page.getByText("Shadow: nothing is held").count()).toBe(0);
    expect(wrongs).toEqual([]);
  });

  test("with many membranes in shadow mode, the page requests only the reports on view", {
    timeout: test_timeout_ms,
  }, async () => {
    const { admin } = await seedOrganization(console_.url);
    for (let n = 0; n < 20; n += 1) await api(console_.url, admin, "POST", "/v1/membranes", { name: `watching ${n}` });
    const { page, wrongs } = await console_.open({ api_key: admin });
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes("/v1/overview")) asked += 1;
    });
    await page.goto("/membranes");
    const report = (name: string) =>
      page.getByRole("region", { name, exact: true }).getByText("No decision in shadow yet");
    await report("watching 19").waitFor();
    expect(asked).toBeLessThan(10);
    await page.getByRole("region", { name: "default" }).scrollIntoViewIfNeeded();
    await report("default").waitFor();
    expect(asked).toBeLessThan(18);
    expect(wrongs).toEqual([]);
  });

  test("a membrane's card lists actions that no rule names, until somebody describes the tool", {
    timeout: test_timeout_ms,
  }, async () => {
    const { admin, agent, membrane_id } = await seedOrganization(console_.url);
    const { page, wrongs } = await console_.open({ api_key: admin });
    const membrane = page.getByRole("region", { name: "default" });
    await page.goto("/membranes");
    await membrane.getByText("There were no actions in the last 31 days.").waitFor();
    for (const type of ["other.refund", "refunds.pay", "refunds.pay"])
      await submit(console_.url, agent, intent(type, { amount_usd: 900 }));
    await page.reload();
    await membrane.getByText("2 of 3 actions in the last 31 days matched no rule.").waitFor();
    const table = membrane.getByRole("table", { name: "Actions without a rule" });
    expect(await table.getByRole("row").allInnerTexts()).toEqual([
      expect.stringMatching(/^Tool\s+Action type\s+Data classes\s+Asked for\s+Held or blocked\s+Actions$/i),
      expect.stringMatching(/^tool_pay\s+refunds\.pay\s+none\s+2\s+0\s+Describe the tool$/),
    ]);
    expect(await violations(page, { within: "main table" })).toEqual([]);
    const known = async () =>
      (
        await api<{ membrane: { action_catalogue: object[] } }>(
          console_.url,
          admin,
          "GET",
          `/v1/membranes/${membrane_id}`,
        )
      ).membrane.action_catalogue;
    await table.getByRole("button", { name: "Describe the tool" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByLabel("Action type").inputValue()).toBe("refunds.pay");
    await dialog.getByLabel("Action type").fill("Other Refund");
    await dialog.getByRole("button", { name: "Save" }).click();
    expect(await dialog.locator("input:invalid").count()).toBe(1);
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel("Action type").fill(" Other.Refund ");
    await dialog.getByLabel("Data classes").fill("Personal , phi,, phi");
    await dialog.getByRole("button", { name: "Save" }).click();
    await membrane.getByText("Each of 3 actions in the last 31 days matched an active rule.").waitFor();
    expect(await known()).toEqual([{ verb: "tool_pay", type: "other.refund", data_classes: ["personal", "phi"] }]);

    // Another person adds a tool at the same time. The page must keep it.
    await membrane.getByRole("button", { name: "Add a tool" }).click();
    const theirs = { verb: "theirs", type: "data.read", data_classes: [] };
    await api(console_.url, admin, "PATCH", `/v1/membranes/${membrane_id}`, {
      action_catalogue: [...(await known()), theirs],
    });
    await dialog.getByLabel("Tool", { exact: true }).fill("Wire ");
    await dialog.getByLabel("Action type").fill("payment.transfer");
    await dialog.getByRole("button", { name: "Save" }).click();
    await membrane.locator("summary", { hasText: "3" }).click();
    await membrane
      .getByRole("row", { name: /tool_pay/ })
      .getByRole("button", { name: "Change" })
      .click();
    await dialog.getByRole("button", { name: "Forget the tool" }).click();
    await membrane.getByText("2 of 3 actions in the last 31 days matched no rule.").waitFor();
    expect(await known()).toEqual([theirs, { verb: "Wire", type: "payment.transfer", data_classes: [] }]);
    expect(wrongs).toEqual([]);
  });

  test("the overview, the shadow report and going live name missing facts, and what to do", {
    timeout: test_timeout_ms,
  }, async () => {
    const { admin, agent, membrane_id } = await seedOrganization(console_.url);
    await api(console_.url, admin, "PATCH", `/v1/membranes/${membrane_id}`, { packs: ["security"] });
    for (const type of ["payment.transfer", "other.refund"])
      await submit(console_.url, agent, { intent: intent(type, { amount_usd: 5 }).intent });
    const { page, wrongs } = await console_.open({ api_key: admin });
    await page.goto("/");
    const share = "Facts are missing in 50 % of your traffic. Decisions that missed a fact: 1.";
    for (const place of [
      page.getByRole("region", { name: "Missing facts" }),
      page.getByRole("region", { name: "default" }),
    ]) {
      await place.getByText("facts.security.prompt_injection_detected").waitFor();
      await place.getByText("security.prompt-injection", { exact: true }).last().waitFor();
      await place.getByText(share).waitFor();
      expect(await violations(page)).toEqual([]);
      await follow(page, "/membranes");
    }
    const membrane = page.getByRole("region", { name: "default" });
    await membrane.getByRole("button", { name: "Go live" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Go live" }).click();
    await page.getByRole("region", { name: "Messages" }).getByText(share).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the overview and the shadow report say that counting continues, and mark figures as incomplete", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 1 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    await page.getByText("live, shadow and test").waitFor();
    const behind = { complete: false, decisions: 0, buckets: [], as_of: { seq: 4, at: "2026-01-02T03:04:05.000006Z" } };
    await page.route("**/v1/overview?*", async (route) => {
      const response = await route.fetch();
      const { overview } = (await response.json()) as { overview: object };
      await route.fulfill({ response, json: { overview: { ...overview, ...behind } } });
    });
    await page.reload();
    await page.getByText("still counting, now up to").waitFor();
    await page.getByRole("heading", { name: "Still counting" }).waitFor();
    expect(await page.getByText("No decisions in this time").count()).toBe(0);
    await follow(page, "/membranes");
    await page.getByText("The service is still counting earlier decisions.").first().waitFor();
    expect(wrongs).toEqual([]);
  });

  test("near a plan's limit, overview and usage warn; at the limit both say what is refused", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const act = () => submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 1 }));
    for (let count = 0; count < 9; count += 1) await act();
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    const quota = page.getByRole("region", { name: "Quota" });
    await page.goto("/");
    await quota.getByText("9 live decisions this month, unlimited plan").waitFor();
    expect(await quota.getByRole("status").count()).toBe(0);

    const plan = { plan_id: "team", included_actions: 10, hard_limit: 100 };
    await console_.setPlan(seeded.org_id, plan);
    await page.goto("/usage");
    await page.getByRole("img", { name: "9 of 100 used" }).waitFor();
    expect(await page.getByText(/limit:|is reached/).count()).toBe(0);

    await console_.setPlan(seeded.org_id, { ...plan, hard_limit: 10 });
    for (const path of ["/usage", "/"]) {
      await page.goto(path);
      await page.getByText("Near the limit: one live decision is left this month").waitFor();
      expect(await violations(page, { within: "main [role=status]" }), path).toEqual([]);
    }
    await act();
    await expect(act()).rejects.toThrow("quota_exceeded");
    for (const path of ["/usage", "/"]) {
      await page.goto(path);
      await page.getByText("The limit is reached: the service refuses new intents").waitFor();
      expect(await violations(page, { within: "main [role=status]" }), path).toEqual([]);
    }
    await quota.getByText("10 live decisions this month of 10").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the page shows a membrane's known tools, or says that there are none", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/membranes");
    const membrane = page.getByRole("region", { name: "default" });
    await membrane.getByText("none: agents describe their own actions").waitFor();

    const action_catalogue = [
      { verb: "send_wire", type: "payment.transfer", data_classes: [] },
      { verb: "read\u00a0chart", type: "data.read", data_classes: ["phi", "personal"] },
    ];
    await api(console_.url, seeded.admin, "PATCH", `/v1/membranes/${seeded.membrane_id}`, { action_catalogue });
    await page.reload();
    await membrane.locator("summary", { hasText: "2" }).click();
    const rows = membrane.getByRole("region", { name: "Known tools" }).getByRole("row");
    await rows.nth(2).waitFor();
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/Tool\s+Action type\s+Data classes/i),
      expect.stringMatching(/send_wire\s+payment\.transfer\s+as the agent says/),
      expect.stringMatching(/read\\u00a0chart\s+data\.read\s+phi, personal/),
    ]);
    expect(await violations(page, { within: "main table" })).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
