import { beforeAll, expect, test } from "vitest";
import { in_dialog, sidewaysOf, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the review queue", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  const refund = (agent: string, amount_usd: number, of: Seeded = seeded) =>
    submit(console_.url, of.agent, intent("other.refund", { amount_usd }, { agent, target: `cus_${amount_usd}` }));
  const escalationOf = (escalation_id: string | null, of: Seeded = seeded) =>
    api<{ escalation: { votes: object[]; comments?: { comment: string }[]; taken?: object; status: string } }>(
      console_.url,
      of.reviewer,
      "GET",
      `/v1/escalations/${escalation_id}`,
    );

  test("sorts and filters on the server, and the address keeps order, filters and selection", {
    timeout: test_timeout_ms,
  }, async () => {
    for (const amount_usd of [700, 9_000, 800]) await refund("bot-sorted", amount_usd);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review?agent_id=bot-sorted");
    await page.getByLabel("Sort by").selectOption("Largest amount");
    const entries = page.locator(".entry");
    await entries.first().getByText("$9,000.00").waitFor();
    await page.getByRole("button", { name: "More filters" }).click();
    await page.getByLabel("USD at least").fill("750");
    await page.keyboard.press("Enter");
    await page.getByText("2 shown, all").waitFor();
    await page.getByRole("checkbox", { name: /^Select 2 similar ones/ }).check();
    await page.getByText("2 selected, $9,800.00 in all").waitFor();
    const search = new URL(page.url()).searchParams;
    expect([search.get("order"), search.get("amount_usd_min")]).toEqual(["amount_usd", "750"]);
    expect(search.get("selected")?.split(".")).toHaveLength(2);
    await page.reload();
    await page.getByText("2 selected, $9,800.00 in all").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("2 selected").waitFor({ state: "detached" });
    await page.goto("/review?agent_id=bot-nobody");
    await page.getByRole("button", { name: "Remove the filters" }).click();
    await entries.first().waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a review is claimed, commented on and snoozed by keyboard, without a ruling", {
    timeout: test_timeout_ms,
  }, async () => {
    const { escalation_id } = (await refund("bot-marked", 900)).decision;
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review?agent_id=bot-marked");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: /^Give back/ }).waitFor();
    await page.keyboard.press("t");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Comment for people").fill("asked the shop");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Review" }).getByText("asked the shop").waitFor();
    expect((await escalationOf(escalation_id)).escalation).toMatchObject({
      votes: [],
      status: "pending",
      comments: [{ comment: "asked the shop" }],
      taken: {},
    });
    await page.keyboard.press("s");
    await dialog.getByLabel("For").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", { name: "None found" }).waitFor();
    await page.goto("/review?agent_id=bot-marked&snoozed=only");
    await page.locator(".entry").first().waitFor();
    await page.getByRole("button", { name: /^End snooze/ }).click();
    await page.getByRole("heading", { name: "None found" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("reviews with one cause are one line with their number and its remedies, and one row of the list", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "known-payees" },
      spec: { match: { verbs: ["wire"] }, when: "!facts.identity.phone_number_verified", effect: "escalate" },
    };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, own.admin, "POST", "/v1/policies", {
      policy,
    });
    const path = `/v1/policies/${saved.policy.policy_id}`;
    await api(console_.url, own.admin, "POST", `${path}/activate`, { mode: "live" });
    for (const agent of ["bot-a", "bot-b", "bot-c"]) {
      const wire = { agent: { id: agent }, action: { type: "other.wire", verb: "wire" } };
      await api(console_.url, own.agent, "POST", "/v1/intents", { intent: wire });
    }
    await refund("bot-a", 900, own);
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto("/review");
    const causes = page.getByRole("region", { name: "Common causes" });
    await causes.getByText("3 reviews wait for one fact: identity.phone_number_verified").waitFor();
    expect(await causes.getByRole("link", { name: "How to supply it" }).getAttribute("href")).toBe(
      "/docs/how-to/facts",
    );
    expect(await causes.getByRole("link", { name: "Open the rule" }).getAttribute("href")).toContain(
      saved.policy.policy_id,
    );
    await page.getByRole("button", { name: "and 2 with this cause" }).waitFor();
    expect(await page.locator(".entry").count()).toBe(2);
    await causes.getByRole("button", { name: "Show them" }).click();
    await page.getByText("3 shown, all").waitFor();
    expect(await violations(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("rows are 36 px high; / searches; reviews that the reader took come first on request, also at 390 px", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const [first, second] = [await refund("bot-first", 900, own), await refund("bot-second", 901, own)];
    await api(console_.url, own.reviewer, "POST", `/v1/escalations/${second.decision.escalation_id}/take`, {
      taken: true,
    });
    expect(first.decision.verdict).toBe("escalate");
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto("/review");
    const entries = page.locator(".entry");
    await entries.first().getByText("bot-first").waitFor();
    await page.getByLabel("Mine first").check();
    await entries.first().getByText("bot-second").waitFor();
    expect(await entries.count()).toBe(2);
    for (const width of [390, 1_280]) {
      await page.setViewportSize({ width, height: 900 });
      expect((await page.locator(".entry-row").first().boundingBox())?.height).toBeLessThanOrEqual(37);
      expect(await sidewaysOf(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    }
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("BOT-FIRST");
    await page.keyboard.press("Enter");
    await page.getByText("1 shown, all").waitFor();
    expect(new URL(page.url()).searchParams.get("text")).toBe("BOT-FIRST");
    expect(wrongs).toEqual([]);
  });

  test("a case shows first what differs from earlier ones, then why it waits; figures that differ are side by side", {
    timeout: test_timeout_ms,
  }, async () => {
    for (const amount_usd of [600, 620, 640]) {
      const { escalation_id } = (await refund("bot-compared", amount_usd)).decision;
      const vote = { outcome: "approve" };
      await api(console_.url, seeded.reviewer, "POST", `/v1/escalations/${escalation_id}/decision`, vote);
    }
    const { escalation_id } = (await refund("bot-compared", 7_400)).decision;
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto(`/escalations/${escalation_id}`);
    const article = page.getByRole("article");
    await article.getByText("$7,400.00 is 10 × the median of 3 earlier ones, $740.00.").waitFor();
    await article.getByText("3 of 3 like this were approved.").waitFor();
    await article.getByText("The agent states another amount than the action has").waitFor();
    const heads = await article.locator("h2:not(.sr)").allInnerTexts();
    expect(heads.map((head) => head.replace(/[\d.]+$/, "").trim())).toEqual([
      "Similar cases",
      "Why it waits",
      "Review",
      "It would be approved if",
      "What exactly",
      "Facts",
      "Tool, session and risk",
    ]);
    expect(wrongs).toEqual([]);
  });

  test("changes are made in a form with the tool's parameters, and sent as their difference", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const entry = { verb: "tool_refund", type: "other.refund", data_classes: [] };
    const parameters = { amount_usd: "number", note: "string", days: "integer" };
    const catalogue = { action_catalogue: [{ ...entry, parameters }] };
    await api(console_.url, own.admin, "PATCH", `/v1/membranes/${own.membrane_id}`, catalogue);
    const content = { amount_usd: 900, express: true, order: { id: "ord_77" }, memo: "late" };
    const raised = await submit(console_.url, own.agent, intent("other.refund", content));
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^With changes/ }).click();
    const dialog = page.getByRole("dialog");
    const send = dialog.getByRole("button", { name: /^Approve changed action/ });
    expect(await send.isDisabled()).toBe(true);
    await dialog.getByRole("spinbutton", { name: "amount_usd" }).fill("450.5");
    await dialog.getByLabel("express", { exact: true }).uncheck();
    await dialog.getByRole("button", { name: "Leave out memo" }).click();
    await dialog.getByRole("button", { name: "Add note" }).click();
    await dialog.getByRole("textbox", { name: "note" }).fill("half");
    await dialog.getByRole("button", { name: "Add days" }).click();
    await dialog.getByRole("spinbutton", { name: "days" }).fill("1.5");
    expect(await violations(page, in_dialog)).toEqual([]);
    await send.click();
    // The browser refuses a number that is not whole.
    await dialog.getByRole("spinbutton", { name: "days" }).fill("3");
    await dialog.getByRole("region", { name: "Your changes" }).getByText("450.5").waitFor();
    await send.click();
    await page.getByText("Outcome: approved with changes").waitFor();
    const { decision } = await api<{ decision: { modified_content: object } }>(
      console_.url,
      own.admin,
      "GET",
      `/v1/intents/${raised.intent_id}/decision`,
    );
    expect(decision.modified_content).toEqual({
      ...{ amount_usd: 450.5, express: false, order: { id: "ord_77" }, note: "half", days: 3 },
    });
    expect(wrongs).toEqual([]);
  });

  test("says in a browser notification what arrived while the tab was hidden, only after a person asked for it", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    await refund("bot-first", 900, own);
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.addInitScript(`{
      const told = [];
      globalThis.told = told;
      globalThis.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, { body }) { told.push(title + ": " + body); }
        close() {}
      };
      Object.defineProperty(document, "hidden", { get: () => true });
    }`);
    await page.goto("/review");
    await page.getByText("1 shown, all").waitFor();
    await refund("bot-early", 901, own);
    await page.getByText("2 shown, all").waitFor();
    expect(await page.evaluate("told")).toEqual([]);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifications on" }).waitFor();
    await refund("bot-late", 902, own);
    await page.getByText("3 shown, all").waitFor();
    expect(await page.title()).toBe("(3) Review queue · Countersign");
    await expect
      .poll(() => page.evaluate("told"))
      .toEqual(["1 action waits for review: bot-late: tool_refund cus_902"]);
    expect(wrongs).toEqual([]);
  });
});
