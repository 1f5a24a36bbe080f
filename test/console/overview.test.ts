import { beforeAll, expect, test } from "vitest";
import { in_dialog, sidewaysOf, violations, violationsInBoth } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();
const wire = (agent: string) => ({ agent: { id: agent }, action: { type: "other.wire", verb: "wire" } });

inBrowser("the overview", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  const activate = async (name: string, spec: object): Promise<string> => {
    const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
      policy,
    });
    const { policy_id } = saved.policy;
    await api(console_.url, seeded.admin, "POST", `/v1/policies/${policy_id}/activate`, { mode: "live" });
    return policy_id;
  };

  test("a fact that many reviews wait for is supplied there, and the rule that waits for it is switched off there", {
    timeout: test_timeout_ms,
  }, async () => {
    const spec = {
      match: { verbs: ["wire"] },
      when: "!facts.identity.phone_number_verified",
      effect: "escalate",
    };
    const policy_id = await activate("known-payees", spec);
    const draft = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "known-payees" } };
    await api(console_.url, seeded.admin, "PUT", `/v1/policies/${policy_id}`, {
      policy: { ...draft, spec: { ...spec, message: "Who gets the money?" } },
    });
    const stored = { contract_version: "1", facts: { identity: { badge: 7 }, security: { drill: true } } };
    await api(console_.url, seeded.operator, "PUT", "/v1/context/agents/bot-a", stored);
    for (const agent of ["bot-a", "bot-b"]) await submit(console_.url, seeded.agent, { intent: wire(agent) });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    const attention = page.getByRole("region", { name: "Needs attention" });
    await attention.getByText("2 reviews wait because the fact identity.phone_number_verified").waitFor();
    expect(await violationsInBoth(page)).toEqual([]);
    await attention.getByRole("button", { name: "Supply it" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByLabel("Agent", { exact: true }).inputValue()).toBe("bot-a");
    await dialog.getByText("badge: 7").waitFor();
    await dialog.getByLabel("Value now").fill("true");
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Store the fact" }).click();
    await page.getByText("Fact stored").waitFor();
    const { context } = await api<{ context: { document: { facts: object } } }>(
      console_.url,
      seeded.operator,
      "GET",
      "/v1/context/agents/bot-a",
    );
    expect(context.document.facts).toEqual({
      identity: { badge: 7, phone_number_verified: true },
      security: { drill: true },
    });
    expect((await submit(console_.url, seeded.agent, { intent: wire("bot-a") })).decision.verdict).toBe("approve");
    await attention.getByRole("button", { name: "Switch the rule off" }).click();
    await dialog.getByRole("checkbox").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Switch off" }).click();
    await dialog.getByText("has a newer version than the one in force").waitFor();
    await api(console_.url, seeded.admin, "POST", `/v1/policies/${policy_id}/activate`, { mode: "live" });
    await dialog.getByRole("button", { name: "Switch off" }).click();
    await page.getByText("Switched off").waitFor();
    const { policy } = await api<{ policy: object }>(console_.url, seeded.admin, "GET", `/v1/policies/${policy_id}`);
    expect(policy).toMatchObject({ status: "shadow", active_version: 2 });
    expect((await submit(console_.url, seeded.agent, { intent: wire("bot-b") })).decision.verdict).toBe("approve");
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await sidewaysOf(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("for a rule whose reviewers have left, the policy opens at its reviewers", {
    timeout: test_timeout_ms,
  }, async () => {
    const made = await api<{ key_id: string }>(console_.url, seeded.admin, "POST", "/v1/api-keys", {
      role: "reviewer",
    });
    const escalation = { reviewers: [`user:${made.key_id}`] };
    const policy_id = await activate("wires-over-limit", {
      match: { verbs: ["wire"] },
      when: "params.n > 1",
      effect: "escalate",
      escalation,
    });
    await api(console_.url, seeded.admin, "DELETE", `/v1/api-keys/${made.key_id}`);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    await page.getByRole("button", { name: "Name reviewers" }).click();
    await page.waitForURL(`**/policies/${policy_id}?at=reviewers`);
    await page.locator(".cm-content").waitFor();
    const line = `(() => {
      const root = document.querySelector(".editor").shadowRoot;
      return root.activeElement?.hasAttribute("data-editor") ?? false;
    })()`;
    await expect.poll(() => page.evaluate(line)).toBe(true);
    expect(wrongs).toEqual([]);
  });

  test("a drag over the chart shows only this period, and the address keeps it; so do the fields of a period", {
    timeout: test_timeout_ms,
  }, async () => {
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 20 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    await page.goto("/");
    const chart = page.getByRole("img", { name: /^Decisions over time/ });
    await chart.waitFor();
    const box = (await chart.boundingBox()) as { x: number; y: number; width: number; height: number };
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.6, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/[?&]from=/);
    const search = new URL(page.url()).searchParams;
    const hours = (Date.parse(search.get("to") ?? "") - Date.parse(search.get("from") ?? "")) / 3_600_000;
    expect(hours).toBeGreaterThan(6);
    expect(hours).toBeLessThan(14);
    await page.getByText("Compared with the period of the same length before").waitFor();
    expect(await page.getByLabel("From", { exact: true }).inputValue()).not.toBe("");
    await page.getByLabel("Time", { exact: true }).selectOption("Last 7 days");
    await page.waitForURL(/span=week/);
    expect(new URL(page.url()).searchParams.get("from")).toBe(null);
    await page.getByLabel("Time", { exact: true }).selectOption("A period");
    await page.getByLabel("From", { exact: true }).fill("2026-01-01T10:00");
    await page.getByLabel("To", { exact: true }).fill("2026-01-02T10:00");
    await expect.poll(() => new URL(page.url()).searchParams.get("to")).toContain("2026-01-0");
    await page.getByText("No decisions in this time").waitFor();
    expect(wrongs).toEqual([]);
  });
});
