import type { Membrane, Policy, Webhook } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testReceiver } from "../../packages/server/src/testing/network/receiver.ts";
import { violations } from "./accessibility.ts";
import { paste } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, refundPolicy, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("concurrent changes", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
  }, test_timeout_ms);

  interface Answer {
    readonly key_id: string;
    readonly policy: Policy;
    readonly membrane: Membrane;
    readonly webhook: Webhook;
    readonly webhooks: readonly [Webhook];
  }
  const admin = (method: string, path: string, body?: unknown) =>
    api<Answer>(console_.url, seeded.admin, method, path, body);
  const policyOver = (limit: number) => ({
    ...refundPolicy,
    metadata: { name: "changed-meanwhile" },
    spec: { ...refundPolicy.spec, when: `params.amount_usd > ${limit}.0`, effect: "block" },
  });

  test("a policy: asks before activating or replacing another version, and warns of lost comments", {
    timeout: test_timeout_ms,
  }, async () => {
    const { policy_id } = (await admin("POST", "/v1/policies", { policy: policyOver(1) })).policy;
    const { page } = await console_.open({ api_key: seeded.admin });
    await page.goto(`/policies/${policy_id}`);
    await page.getByRole("button", { name: "Activate", exact: true }).click();
    await page.getByText("Activate version 1?").waitFor();
    await admin("PUT", `/v1/policies/${policy_id}`, { policy: policyOver(2) });
    await page.getByRole("dialog").getByRole("button", { name: "Activate" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await admin("GET", `/v1/policies/${policy_id}`)).policy).toMatchObject({
      version: 2,
      active_version: null,
    });

    const editor = page.locator("[data-editor]");
    await page.getByText("version 2", { exact: true }).waitFor();
    await editor.click();
    await page.keyboard.press("Control+a");
    await paste(editor, `# why\n${JSON.stringify(policyOver(3), null, 2)}`);
    await page.getByText("Comments are not saved").waitFor();
    await admin("PUT", `/v1/policies/${policy_id}`, { policy: policyOver(4) });
    await page.getByRole("button", { name: "Save new version" }).click();
    await page.getByText("Save over version 3?").waitFor();
    expect((await admin("GET", `/v1/policies/${policy_id}`)).policy.version).toBe(3);
    await page.getByRole("button", { name: "Save mine as the newest" }).click();
    await page.getByText("Saved as version 4").waitFor();

    // Text written after a save counts as unsaved again.
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n# more");
    const asked = page.waitForEvent("dialog");
    await page.getByRole("link", { name: "Membranes" }).click();
    expect((await asked).message()).toMatch("Leave without saving");
  });

  test("a membrane: saves only the fields changed in the dialog", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    await page.getByRole("button", { name: "Change" }).first().click();
    await page.getByRole("checkbox").first().waitFor();
    const thresholds = { escalate_at: 0.3, block_at: 0.5 };
    await admin("PATCH", `/v1/membranes/${seeded.membrane_id}`, { thresholds });
    await page.getByLabel("Name", { exact: true }).fill("Renamed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Renamed" }).waitFor();
    const { membrane } = await admin("GET", `/v1/membranes/${seeded.membrane_id}`);
    expect(membrane).toMatchObject({ name: "Renamed", thresholds });
    expect(wrongs).toEqual([]);
  });

  test("a membrane: saves only the changed fields of packs, thresholds and reviews", {
    timeout: test_timeout_ms,
  }, async () => {
    const path = `/v1/membranes/${(await admin("POST", "/v1/membranes", { name: "parts", packs: ["meta"] })).membrane.membrane_id}`;
    const before = (await admin("GET", path)).membrane;
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    await page.getByRole("region", { name: "parts" }).getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("checkbox", { name: /^security / }).waitFor();
    await admin("PATCH", path, {
      packs: ["meta", "security"],
      thresholds: { escalate_at: 0.3, block_at: null },
      escalation: { ...before.escalation, quorum: 2 },
    });
    await dialog.getByRole("checkbox", { name: /^meta / }).uncheck();
    await dialog.getByRole("checkbox", { name: /^gdpr / }).check();
    await dialog.getByLabel("Block from risk").fill("0.9");
    await dialog.getByLabel("Hours for a review").fill("2");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Policies may cost too much together").waitFor();
    expect((await admin("GET", path)).membrane).toMatchObject({
      packs: ["security", "gdpr"],
      thresholds: { escalate_at: 0.3, block_at: 0.9 },
      escalation: { ...before.escalation, quorum: 2, timeout_seconds: 7_200 },
    });
    const card = page.getByRole("region", { name: "parts" });
    await card.getByText("from risk 0.3", { exact: true }).waitFor();
    await card.getByRole("button", { name: "Change" }).click();
    await dialog.getByLabel("Block from risk").fill("0.3");
    await dialog.getByRole("button", { name: "Save" }).click();
    await card.getByText("never: risk 0.3 blocks before risk 0.3 would escalate").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a membrane: the time limit can change even if a reviewer may no longer decide", {
    timeout: test_timeout_ms,
  }, async () => {
    const { key_id } = await admin("POST", "/v1/api-keys", { role: "reviewer" });
    const terms = { reviewers: [{ type: "user", id: key_id }], quorum: 1 };
    const { membrane } = await admin("POST", "/v1/membranes", { name: "of one", escalation: terms });
    await admin("DELETE", `/v1/api-keys/${key_id}`);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    await page.getByRole("region", { name: "of one" }).getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Hours for a review").fill("2");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const after = (await admin("GET", `/v1/membranes/${membrane.membrane_id}`)).membrane;
    expect(after.escalation).toMatchObject({ ...terms, timeout_seconds: 7_200 });
    expect(wrongs).toEqual([]);
  });

  test("a membrane that goes live while a question is open does not return to shadow mode by the answer", {
    timeout: test_timeout_ms,
  }, async () => {
    const { membrane } = await admin("POST", "/v1/membranes", { name: "moved" });
    const path = `/v1/membranes/${membrane.membrane_id}`;
    const { page } = await console_.open({ api_key: seeded.admin, own: true });
    await page.clock.install();
    await page.goto("/membranes");
    const card = page.getByRole("region", { name: "moved" });
    await card.getByRole("button", { name: "Go live" }).click();
    await admin("POST", `${path}/go-live`);
    // The page reloads its data when it gets the focus.
    await page.clock.fastForward("01:00");
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await card.getByText("live", { exact: true }).waitFor();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("heading").textContent()).toBe("Enforce its decisions from now on?");
    await dialog.getByRole("button").last().click();
    await dialog.getByText("The membrane is live already.").waitFor();
    expect((await admin("GET", path)).membrane.status).toBe("live");
  });

  test("a webhook: saves only the fields changed in the dialog", { timeout: test_timeout_ms }, async () => {
    const { url } = await testReceiver((response) => response.end());
    const { webhook } = await admin("POST", "/v1/escalations/webhooks", {
      url,
      description: "of ops",
      event_types: ["decision.approved", "decision.blocked"],
    });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/webhooks");
    const row = page.getByRole("row").filter({ hasText: "of ops" });
    await row.getByRole("button", { name: "Change" }).click();
    await page.getByLabel("Note").fill("of billing");
    await page.getByLabel("quota.exceeded").check();
    const path = `/v1/escalations/webhooks/${webhook.id}`;
    await admin("PATCH", path, { url: `${url}/moved`, event_types: ["decision.blocked"] });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("of billing").waitFor();
    expect((await admin("GET", path)).webhook).toMatchObject({
      url: `${url}/moved`,
      description: "of billing",
      event_types: ["decision.blocked", "quota.exceeded"],
    });
    await admin("DELETE", path);
    expect(wrongs).toEqual([]);
  });

  test("a webhook for all events stays one when its note changes", { timeout: test_timeout_ms }, async () => {
    const { url } = await testReceiver((response) => response.end());
    const { webhook } = await admin("POST", "/v1/escalations/webhooks", { url });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/webhooks");
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByLabel("Note").fill("billing");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("billing").waitFor();
    const [after] = (await admin("GET", "/v1/escalations/webhooks")).webhooks;
    expect(after.event_types.toSorted()).toEqual(webhook.event_types.toSorted());
    expect(wrongs).toEqual([]);
  });

  test("a stopped backtest says so; a new run uses the policies in the address, and its result has an address of its own", {
    timeout: test_timeout_ms,
  }, async () => {
    await submit(console_.url, seeded.agent, intent("other.thing", {}));
    const { page } = await console_.open({ api_key: seeded.admin });
    const [policies, backtests] = ["**/v1/policies?*", "**/v1/learning/backtest"];
    // Delays the list of policies: in this test it never arrives.
    await page.route(policies, () => {});
    await page.route(backtests, () => {});
    await page.goto(`/backtest?policy_id=${seeded.policy_id}`);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    const stopped = page.getByRole("status").filter({ hasText: "Stopped early" });
    await stopped.waitFor();
    expect(await violations(page, { within: "main [role=status]" })).toEqual([]);
    await page.unroute(backtests);
    const sent = page.waitForRequest((request) => request.url().endsWith("/v1/learning/backtest"));
    await page.getByRole("button", { name: "Run" }).click();
    expect((await sent).postDataJSON().candidate.policies).toHaveLength(1);
    await page.waitForURL("**/backtests/bkt_*", { timeout: test_timeout_ms });
    await page.getByText("Decided again", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("Decided again", { exact: true }).waitFor();
    expect(await stopped.count()).toBe(0);
    await page.getByRole("link", { name: "All backtests" }).click();
    await page.getByRole("table").getByRole("link").first().waitFor();
  });

  test("a history of more than one page can be read to its end", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await submit(console_.url, seeded.agent, intent("other.thing", {}));
    const observe = (status: string) =>
      api(console_.url, seeded.agent, "POST", `/v1/intents/${intent_id}/observations`, { status });
    for (let count = 0; count < 4; count += 1) await observe("skipped");
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    // Uses pages of 4 rows instead of 200, because creating more rows takes a minute.
    await page.route(/\/audit\?/, (route) =>
      route.continue({ url: route.request().url().replace("limit=200", "limit=4") }),
    );
    await page.goto(`/decisions/${intent_id}`);
    const rows = page.locator("ol.timeline > li");
    await page.getByText("4 shown").waitFor();
    expect(await rows.count()).toBe(4);
    await page.getByRole("button", { name: "More rows" }).click();
    await page.getByText(/shown, all/).waitFor();
    expect(await rows.count()).toBeGreaterThan(4);
    expect(wrongs).toEqual([]);
  });
});
