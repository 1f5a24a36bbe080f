import { beforeAll, expect, test } from "vitest";
import { testReceiver } from "../../packages/server/src/testing/network/receiver.ts";
import { in_dialog, sidewaysOf, structureViolations, violations } from "./accessibility.ts";
import { follow, paste, pressEscape } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, refundPolicy, type Seeded, seedLive, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("operating", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  test("a mistake in a policy is marked at its character; corrected, saved, backtested and activated it decides the next intent", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto(`/policies/${seeded.policy_id}`);
    const editor = page.locator("[data-editor]");
    await editor.waitFor();
    const write = async (when: string, effect: string, tests: readonly object[] = []) => {
      const document = { ...refundPolicy, spec: { ...refundPolicy.spec, when, effect }, ...(tests[0] && { tests }) };
      await editor.click();
      await page.keyboard.press("Control+a");
      await paste(editor, JSON.stringify(document, null, 2));
    };
    await write("params.amount_usd > limt", "block");
    await page.getByText("1 error").waitFor();
    expect(await page.locator(".cm-lintRange-error").first().textContent()).toBe("limt");
    await write("facts.security.active_securty_incident == true", "block");
    await page.getByText("No errors; 1 warning; there are no tests.").waitFor();
    expect(await page.locator(".cm-lintRange-warning").first().textContent()).toBe("active_securty_incident");
    const { intent: tried } = intent("other.refund", { amount_usd: 60 });
    const one = { name: "above", intent: tried, expect: { verdict: "block" } };
    await write("params.amount_usd > 50.0", "block", [one]);
    await page.getByText("No errors; its test passes.").waitFor();
    await write("params.amount_usd > 50.0", "block");
    await page.getByText("No errors; there are no tests.").waitFor();
    await page.getByRole("button", { name: "Save new version" }).click();
    await page.getByText("Version 2 waits for activation").waitFor();
    const before = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 60 }));
    expect(before.decision.verdict).toBe("approve");
    await page.getByRole("link", { name: "Backtest" }).last().click();
    await page.getByText("As if their newest versions had been active").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForURL("**/backtests/bkt_*", { timeout: test_timeout_ms });
    const flips = page.getByRole("table").filter({ has: page.getByRole("columnheader", { name: "Candidate" }) });
    const flip = flips.getByRole("row").filter({ has: page.locator(`a[href="/decisions/${before.intent_id}"]`) });
    await flip.getByText("tool_refund").waitFor();
    const matrix = page.getByRole("table", { name: "Number of verdicts by old and new verdict" });
    expect(await matrix.locator("td.worse").allTextContents()).toEqual(["1"]);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await sidewaysOf(page)).toEqual([]);
    expect(await structureViolations(page, { within: "main" })).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await follow(page, `/policies/${seeded.policy_id}`);
    await page.getByRole("button", { name: "Activate", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Activate" }).click();
    await page.getByText("Version 2 is active.").waitFor();
    const after = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 60 }));
    expect(after.decision.verdict).toBe("block");
    await page.getByRole("region", { name: "Changes from version 1 to version 2" }).getByText("50.0").first().waitFor();
    expect(wrongs).toEqual([]);
  });

  test("fields and functions are completed while a policy is written", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("facts.identity.delegation");
    const list = page.locator(".cm-tooltip-autocomplete");
    await list.getByText("delegation_limit_usd").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.type(" consentSt");
    await list.getByText("consentState").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a webhook's secret is shown once; a failed delivery is listed with its attempts and sent again", {
    timeout: test_timeout_ms,
  }, async () => {
    let status = 500;
    const receiver = await testReceiver((response) => {
      response.statusCode = status;
      response.end();
    });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/webhooks");
    await page.getByRole("button", { name: "Add a webhook" }).click();
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It is shown only here.").waitFor();
    await pressEscape(page);
    const secret = page.locator(".secret code");
    const first = await secret.textContent();
    expect(first).toMatch(/^whsec_/);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByText("More", { exact: true }).click();
    await page.getByRole("button", { name: "New secret" }).click();
    expect(await violations(page, in_dialog)).toEqual([]);
    await page.getByLabel("The old secret ends").selectOption("at once, because it leaked");
    await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
    await page.getByText("It is shown only here.").waitFor();
    expect(await secret.textContent()).toMatch(/^whsec_/);
    expect(await secret.textContent()).not.toBe(first);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 1 }));
    await expect.poll(() => receiver.received.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(3);
    status = 200;
    const failed = page.getByRole("region", { name: "Failed deliveries" });
    await failed.getByRole("button", { name: "Send again" }).waitFor();
    expect(await failed.getByRole("button", { name: "Send again" }).count()).toBe(1);
    await failed.getByText("3 attempts, the last: 500 – The receiver answered 500 instead of a 2xx status.").click();
    expect(await failed.getByRole("row").count()).toBe(4);
    await failed.getByRole("button", { name: "Send again" }).click();
    await page.getByText("As a new delivery with three attempts.").waitFor();
    await expect.poll(() => receiver.received.at(-1)?.headers["x-service-retry"], { timeout: 60_000 }).toBe("true");
    await failed.getByText("sent again: delivered").waitFor({ timeout: 60_000 });
    await failed.getByRole("button", { name: "Send all again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send all again" }).click();
    await page.getByText("Nothing to send").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("all failed deliveries are retried page by page, with a count and pauses for the rate limit, until the dialog closes", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin, own: true });
    await page.clock.install();
    const attempt = { number: 1, at: "2026-01-01T00:00:00.000000Z", response_status: 500, error: null, duration_ms: 1 };
    const failed = {
      delivery_id: "dlv_01",
      latest_retry: null,
      webhook_id: "wh_01",
      event_type: "decision.escalated",
      intent_id: null,
      attempts: [attempt],
      failed_at: attempt.at,
    };
    await page.route("**/v1/escalations/webhooks/deliveries/failed?*", (route) =>
      route.fulfill({ json: { deliveries: [failed], next_cursor: null } }),
    );
    const cursors: (string | null)[] = [];
    const refusals: (string | null)[] = [];
    let goOn: (() => void) | undefined;
    await page.route("**/v1/escalations/webhooks/deliveries/failed/retry?*", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      expect(query.get("webhook_id")).toBe("wh_01");
      if (cursors.length === 1 && refusals.push(query.get("cursor")) === 1) {
        const error = { code: "rate_limit_exceeded", message: "Too many.", details: [], request_id: "req_1" };
        return route.fulfill({ status: 429, headers: { "retry-after": "5" }, json: { error } });
      }
      cursors.push(query.get("cursor"));
      if (cursors.length % 2 === 0) await new Promise<void>((resolve) => (goOn = resolve));
      await route.fulfill({
        status: 202,
        json: { deliveries: Array(200).fill(failed), next_cursor: `c${cursors.length}` },
      });
    });
    await page.goto("/webhooks?webhook_id=wh_01");
    const dialog = page.getByRole("dialog", { name: "Send all again?" });
    await page.getByRole("button", { name: "Send all again" }).click();
    await dialog.getByRole("button", { name: "Send all again" }).click();
    await dialog.getByText("200 messages so far; waiting for the rate limit").waitFor();
    const afterRest = async () => {
      await page.clock.fastForward(5_000);
      return goOn;
    };
    await expect.poll(afterRest).toBeDefined();
    await dialog.getByText("200 messages so far …").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    goOn?.();
    await page.getByText("400 messages sent again").waitFor();
    expect(cursors).toEqual([null, "c1"]);
    expect(wrongs).toEqual([]);
  });

  test("a webhook without events is not saved: its dialog asks to choose one", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/webhooks");
    await page.getByRole("button", { name: "Add a webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Address").fill("https://example.com/none");
    await dialog.getByLabel("All events").uncheck();
    const events = dialog.getByRole("group", { name: "Events" });
    for (const each of await events.getByRole("checkbox").all()) await each.uncheck();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("choose at least one event").waitFor();
    await dialog.getByLabel("decision.blocked").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Its signing secret").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("keys are created, shown once, replaced and revoked", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("a new bot");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("It is shown only here.").waitFor();
    const made = (await page.locator(".secret code").textContent()) ?? "";
    expect((await submit(console_.url, made, intent("other.thing", {}))).decision.verdict).toBe("approve");
    await page.getByRole("button", { name: "I have stored it" }).click();
    const row = page.getByRole("row").filter({ hasText: "a new bot" });
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    await expect(submit(console_.url, made, intent("other.thing", {}))).rejects.toThrow("invalid_api_key");
    expect(wrongs).toEqual([]);
  });

  test("the provider's callback address is shown before single sign-on is set up", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin }, console_.named_url);
    await page.goto("/people");
    const settings = page.getByRole("region", { name: "Single sign-on" });
    await settings.getByText(`${console_.named_url}/sso/callback/${seeded.org_id}`).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the list of closed reviews shows each outcome", { timeout: test_timeout_ms }, async () => {
    const own = await seedLive(console_.url);
    const raise = async (target: string) => {
      const body = intent("other.refund", { amount_usd: 900 }, { target });
      return `/v1/escalations/${(await submit(console_.url, own.agent, body)).decision.escalation_id}`;
    };
    await api(console_.url, own.reviewer, "POST", `${await raise("cus_yes")}/decision`, { outcome: "approve" });
    await api(console_.url, own.reviewer, "POST", `${await raise("cus_no")}/decision`, { outcome: "block" });
    await api(console_.url, own.operator, "POST", `${await raise("cus_off")}/cancel`, {});
    await api(console_.url, own.agent, "POST", `${await raise("cus_back")}/withdraw`, {});
    await raise("cus_open");
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto("/review?status=all");
    await page.getByRole("button", { name: "and 4 similar" }).click();
    const entry = (target: string) => page.locator(".entry").filter({ hasText: target });
    await entry("cus_yes").getByText("decided: approved").waitFor();
    await entry("cus_no").getByText("decided: blocked").waitFor();
    await entry("cus_off").getByText("cancelled: blocked").waitFor();
    await entry("cus_open").getByText(/left$/).waitFor();
    await entry("cus_back").click();
    await page.getByRole("region", { name: "Review" }).getByText("The agent withdrew it").waitFor();
    await entry("cus_no").click();
    await page.getByRole("article", { name: "Escalation" }).getByText("decided: blocked").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("agents get no links to pages that they may not read, and auditors none to a test intent", {
    timeout: test_timeout_ms,
  }, async () => {
    const live = await seedLive(console_.url);
    const raised = await submit(console_.url, live.agent, intent("other.refund", { amount_usd: 900 }));
    const path = `/decisions/${raised.intent_id}`;
    const links = [/^open it$/, /^large-refunds$/];
    const reads = await console_.open({ api_key: live.auditor });
    await reads.page.goto(path);
    for (const name of links) await reads.page.getByRole("main").getByRole("link", { name }).waitFor();
    const submits = await console_.open({ api_key: live.agent });
    await submits.page.goto(path);
    await submits.page.getByText("waits for review").first().waitFor();
    await submits.page.getByText("large-refunds").first().waitFor();
    const main = submits.page.getByRole("main");
    for (const name of links) expect(await main.getByRole("link", { name }).count(), String(name)).toBe(0);

    const empty = await seedOrganization(console_.url);
    for (const [api_key, count] of [
      [empty.agent, 1],
      [empty.auditor, 0],
    ] as const) {
      const { page, wrongs } = await console_.open({ api_key });
      await page.goto("/decisions");
      await page.getByRole("heading", { name: "No decisions yet" }).waitFor();
      expect(await page.getByRole("link", { name: "Send a test intent" }).count()).toBe(count);
      expect(wrongs).toEqual([]);
    }
    const overview = await console_.open({ api_key: empty.auditor });
    await overview.page.goto("/");
    await overview.page.getByRole("heading", { name: "No decisions in this time" }).waitFor();
    expect(await overview.page.getByText("test intent").count()).toBe(0);
    for (const { wrongs } of [reads, submits, overview]) expect(wrongs).toEqual([]);
  });

  test("a reviewer sees no admin action, and the API refuses them", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/");
    const nav = page.getByRole("navigation", { name: "Main" });
    await nav.getByRole("link", { name: "Review queue" }).waitFor();
    for (const name of ["API keys", "People", "Webhooks", "Audit"])
      expect(await nav.getByRole("link", { name }).count(), name).toBe(0);
    await follow(page, "/membranes");
    await page.getByRole("region", { name: "default" }).waitFor();
    expect(await page.getByRole("button", { name: /Go live|Return to shadow|Change|Add/ }).count()).toBe(0);
    await follow(page, `/policies/${seeded.policy_id}`);
    await page.getByRole("region", { name: "In force" }).waitFor();
    expect(await page.getByRole("button", { name: /Activate|Retire|Save/ }).count()).toBe(0);
    const blocked = await submit(console_.url, seeded.agent, intent("other.export", { rows: 9_000 }));
    await follow(page, `/decisions/${blocked.intent_id}`);
    await page.getByRole("heading", { name: "Reasons" }).waitFor();
    expect(await page.getByRole("button", { name: /Override/ }).count()).toBe(0);
    for (const path of ["/keys", "/audit"]) {
      await follow(page, path);
      await page.getByText("Your role does not allow this").first().waitFor();
      expect(await page.getByRole("button", { name: /Create|Revoke/ }).count(), path).toBe(0);
    }
    await follow(page, "/people");
    await page.getByRole("heading", { name: "Nobody has an account here yet" }).waitFor();
    expect(await page.getByRole("button", { name: /Invite|Remove|Withdraw/ }).count()).toBe(0);
    await follow(page, "/webhooks");
    await page.getByText("Your role does not allow this").first().waitFor();
    expect(await page.getByRole("button", { name: /Add|Change|Send again/ }).count()).toBe(0);
    for (const [method, path] of [
      ["GET", "/v1/api-keys"],
      ["POST", "/v1/api-keys"],
      ["POST", `/v1/membranes/${seeded.membrane_id}/go-live`],
      ["POST", `/v1/membranes/${seeded.membrane_id}/return-to-shadow`],
      ["POST", `/v1/policies/${seeded.policy_id}/activate`],
      ["POST", `/v1/policies/${seeded.policy_id}/retire`],
      ["POST", "/v1/auth/invitations"],
      ["POST", "/v1/escalations/webhooks"],
      ["POST", `/v1/intents/${blocked.intent_id}/override`],
      ["GET", "/v1/audit"],
    ] as const)
      await expect(
        api(console_.url, seeded.reviewer, method, path, method === "GET" ? undefined : {}),
        `${method} ${path}`,
      ).rejects.toThrow("forbidden");
    expect(wrongs).toEqual([]);
  });
});
