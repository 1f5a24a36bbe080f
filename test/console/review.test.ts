import { beforeAll, expect, test } from "vitest";
import { deadlineIn } from "../../packages/server/src/testing/people/review.ts";
import { follow, patience_ms, pressEscape } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, hostile, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

interface Final {
  readonly decision: { readonly outcome: string | null; readonly modified_content: unknown };
}

inBrowser("the review queue", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  const raise = (amount_usd: number, target: string) =>
    submit(
      console_.url,
      seeded.agent,
      intent("other.refund", { amount_usd, currency: "USD" }, { target, agent: `bot-${target}` }),
    );
  const outcome = async (intent_id: string): Promise<Final["decision"]> => {
    for (;;) {
      const path = `/v1/intents/${intent_id}/decision?wait=20`;
      const { decision } = await api<Final>(console_.url, seeded.agent, "GET", path);
      if (decision.outcome !== null) return decision;
    }
  };

  test("an escalation appears without a reload, is approved by keyboard only, and the waiting agent gets its answer", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    const { intent_id, decision } = await raise(750, "cus_live");
    expect(decision.verdict).toBe("escalate");
    const answer = outcome(intent_id);
    await page.getByRole("article", { name: "Escalation" }).getByText("cus_live").first().waitFor();
    await page.getByText("The refund of 750 USD is above 500 USD").waitFor();
    expect(await page.locator(".wants").textContent()).toMatch(
      /with \$740.00 at stake, and it cannot be undone, says the agent\.$/,
    );
    await page.getByText("Rests on Refund policy 4.2").waitFor();
    await page.getByText("entity_state.account_status").waitFor();
    await page.getByRole("button", { name: /^Approve/ }).waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("a comment with b and m in it");
    await page.keyboard.press("Control+Enter");
    expect((await answer).outcome).toBe("approve");
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    const audit = await api<{ audit: { type: string; data: object }[] }>(
      console_.url,
      seeded.admin,
      "GET",
      `/v1/intents/${intent_id}/audit`,
    );
    expect(audit.audit.find(({ type }) => type === "voted")?.data).toMatchObject({
      comment: "a comment with b and m in it",
    });
    expect(wrongs).toEqual([]);
  });

  test("j and k move through the cases; approve with changes approves exactly the edited parameters", {
    timeout: test_timeout_ms,
  }, async () => {
    const first = await raise(800, "cus_one");
    const second = await raise(900, "cus_two");
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    const chosen = page.locator(".entry[aria-current=true]");
    await chosen.getByText("cus_one").first().waitFor();
    await page.keyboard.press("j");
    await chosen.getByText("cus_two").first().waitFor();
    await page.keyboard.press("k");
    await chosen.getByText("cus_one").first().waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("m");
    await page.getByRole("button", { name: "As JSON" }).click();
    const editor = page.getByLabel("Parameters as JSON");
    await editor.fill("{ not json");
    await page.getByText("This is not JSON yet").waitFor();
    await editor.fill('{"amount_usd": 700, "currency": "USD", "note": "half"}');
    const offer = page.getByRole("button", { name: "Fill in what would be approved" });
    await offer.click();
    expect(JSON.parse(await editor.inputValue())).toEqual({ amount_usd: 500, currency: "USD", note: "half" });
    expect([await offer.count(), await page.locator("textarea.code:focus").count()]).toEqual([0, 1]);
    await editor.fill('{"amount_usd": 450, "currency": "USD", "note": "half"}');
    await page.getByRole("button", { name: /^Approve changed action/ }).click();
    expect(await outcome(first.intent_id)).toMatchObject({
      outcome: "approve_modified",
      modified_content: { amount_usd: 450, currency: "USD", note: "half" },
    });
    await chosen.getByText("cus_two").first().waitFor();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Control+Enter");
    expect((await outcome(second.intent_id)).outcome).toBe("block");
    expect(wrongs).toEqual([]);
  });

  test("the second of two reviewers learns that the case is closed, and nothing is decided twice", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id, decision } = await raise(999, "cus_race");
    const path = `/escalations/${decision.escalation_id}`;
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto(path);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    await api(console_.url, seeded.operator, "POST", `/v1${path}/decision`, { outcome: "block" });
    await page.keyboard.press("Control+Enter");
    await page.getByRole("dialog").getByText("This has ended meanwhile: blocked").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Outcome: blocked").waitFor();
    expect((await outcome(intent_id)).outcome).toBe("block");
    expect(wrongs).toEqual([]);
  });

  test("the case on the screen and its dialog stay when a more urgent one arrives and when somebody else decides", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const refund = async (target: string) => {
      const { decision } = await submit(
        console_.url,
        own.agent,
        intent("other.refund", { amount_usd: 600 }, { target, agent: `bot-${target}` }),
      );
      return decision.escalation_id ?? "";
    };
    const shown = await refund("cus_shown");
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto("/review");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog", { name: "Block this action" });
    await dialog.waitFor();
    expect(await dialog.textContent()).toContain("bot-cus_shown: call tool_refund (other.refund) on cus_shown");
    await page.keyboard.type("Not ");
    const urgent = await refund("cus_urgent");
    await deadlineIn(console_.database.db, [urgent], "5 minutes");
    await page.locator(".entry").first().getByText("cus_urgent").first().waitFor();
    await page.keyboard.type("allowed");
    expect(await dialog.getByLabel("Comment").inputValue()).toBe("Not allowed");
    const decide = (id: string) =>
      api(console_.url, own.operator, "POST", `/v1/escalations/${id}/decision`, {
        outcome: "approve",
        comment: "fine",
      });
    await decide(shown);
    await dialog.getByText("This has ended meanwhile: approved").waitFor();
    expect(await dialog.textContent()).toContain("Decided by key_");
    expect(await dialog.getByRole("button", { name: /^Block/ }).isDisabled()).toBe(true);
    await decide(urgent);
    await page.getByRole("heading", { name: "Nothing waits", includeHidden: true }).waitFor();
    expect(await dialog.getByLabel("Comment").inputValue()).toBe("Not allowed");
    await page.keyboard.press("Control+Enter");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    const article = page.getByRole("article", { name: "Escalation" });
    await article.getByText("Outcome: approved").waitFor();
    await article.getByText("cus_shown").first().waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a dialog stays during its ruling, and the answer does not move a reviewer who looks at another case", {
    timeout: test_timeout_ms,
  }, async () => {
    const { intent_id } = await raise(850, "cus_slow");
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route("**/decision", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      await answered;
      await route.continue();
    });
    await page.goto("/");
    await page.getByRole("link", { name: /^Review queue/ }).click();
    await page.locator(".entry").getByText("cus_slow").first().click();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Control+Enter");
    await dialog.locator("button[type=submit]:disabled").waitFor();
    await pressEscape(page);
    await dialog.locator("button[type=submit]:disabled").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    answer();
    await page.getByText("The waiting agent has its answer.").waitFor();
    expect((await outcome(intent_id)).outcome).toBe("block");
    expect(new URL(page.url()).pathname).toBe("/");
    expect(wrongs).toEqual([]);
  });

  test("keys typed after a text field disappeared are no shortcuts", { timeout: test_timeout_ms }, async () => {
    await raise(870, "cus_typing");
    const { page } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.evaluate('document.body.append(Object.assign(document.createElement("input"), { id: "gone" }))');
    await page.locator("#gone").focus();
    await page.keyboard.type("No");
    await page.locator("#gone").evaluate((field) => field.remove());
    // Sends all keys in one turn, because single keys may be a second apart on a busy machine.
    await page.evaluate(`{
      const press = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      for (const key of "abm") document.body.dispatchEvent(press(key));
      window.pressed = { at: performance.now(), press };
    }`);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.evaluate(`document.body.dispatchEvent(
      Object.defineProperty(pressed.press("b"), "timeStamp", { value: pressed.at + 1_001 }))`);
    await page.getByRole("dialog", { name: "Block this action" }).waitFor();
  });

  test("markup, links, reordering and invisible characters of an agent are shown as data and do nothing", {
    timeout: test_timeout_ms,
  }, async () => {
    const { decision } = await submit(
      console_.url,
      seeded.agent,
      intent(
        "other.refund",
        {
          amount_usd: 1_900,
          note: hostile.markup,
          file: hostile.reversed,
          [hostile.hidden]: hostile.terminal,
          large: "x".repeat(700_000),
        },
        {
          agent: hostile.markup.slice(0, 120),
          target: hostile.reversed,
          summary: `${hostile.link}\n${hostile.tower} ${hostile.terminal}`,
        },
      ),
    );
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/escalations/${decision.escalation_id}`);
    const article = page.getByRole("article", { name: "Escalation" });
    await article.getByText("In the agent’s own words").waitFor();
    const text = (await article.textContent()) ?? "";
    expect(text).toContain(hostile.markup);
    expect(text).toContain("[click](javascript:alert(1)) https://evil.example/");
    expect(text).toContain("invoice\\u202egpj.exe");
    expect(text).toContain("pay\\u200bpal\\u00ad\\u{e0041}");
    expect(text).toContain("\\u001b[31mred");
    // The text contains no hiding or reordering characters, and long runs of combining marks are cut.
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u00ad\u001b\u{e0000}-\u{e007f}]/u);
    expect(text).not.toMatch(/\p{M}{4,}/u);
    expect(text.length).toBeLessThan(30_000);
    expect(await article.locator("img, script, iframe, style").count()).toBe(0);
    expect(await page.locator('a[href*="evil"], a[href^="javascript:"]').count()).toBe(0);
    expect(await page.title()).toBe("Review · Countersign");
    await follow(page, "/review");
    await page.locator(".entry").getByText("<img src=x").first().waitFor();
    await follow(page, "/decisions");
    await page.getByRole("cell").getByText("<img src=x").first().waitFor();
    expect(await page.title()).toBe("Decisions · Countersign");
    expect(wrongs).toEqual([]);
  });

  test("a block in shadow mode says so, and offers no override", {
    timeout: test_timeout_ms,
  }, async () => {
    const [path, body] = ["/v1/intents?mode=shadow", intent("other.export", { rows: 5_000 })] as const;
    const { intent_id } = await api<{ intent_id: string }>(console_.url, seeded.agent, "POST", path, body);
    const { page } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${intent_id}`);
    await page.getByText("Shadow: nothing was held").waitFor();
    await page.getByText("Decided", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Override this block" }).count()).toBe(0);
  });

  test("near-identical cases form one group; an operator reassigns one and cancels another", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = [];
    for (const amount_usd of [601, 702, 803])
      raised.push(
        await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }, { agent: "bot-group" })),
      );
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto("/review?agent_id=bot-group");
    await page.getByRole("button", { name: "and 2 similar" }).click();
    expect(await page.locator(".entry").count()).toBe(3);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.getByRole("button", { name: "Reassign" }).click();
    await page.getByLabel("Who decides").selectOption("admin");
    await page.getByRole("button", { name: "Hand over" }).click();
    await page.getByText("Decided by: any admin").waitFor();
    await follow(page, `/escalations/${raised[2]?.decision.escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.getByRole("button", { name: "Cancel review" }).click();
    await page.getByLabel("Reason").fill("asked twice");
    await page.getByRole("button", { name: "Cancel the review" }).click();
    await page.getByText("cancelled: blocked", { exact: true }).waitFor();
    expect((await outcome(raised[2]?.intent_id ?? "")).outcome).toBe("block");
    const ended = page.getByRole("region", { name: "Review" });
    await ended.getByText("The review was cancelled by you").waitFor();
    await ended.getByText("asked twice").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("similar cases are decided ones of the same agent and tool, even behind a hundred pending ones", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const refund = (amount_usd: number) => intent("other.refund", { amount_usd }, { agent: "bot-similar" });
    const decided = await submit(console_.url, own.agent, refund(601));
    const ruling = `/v1/escalations/${decided.decision.escalation_id}/decision`;
    await api(console_.url, own.operator, "POST", ruling, { outcome: "approve" });
    for (let begun = 0; begun < 100; begun += 50)
      await api(console_.url, own.agent, "POST", "/v1/intents/batch", {
        intents: Array.from({ length: 50 }, (_, at) => refund(700 + begun + at)),
      });
    const { escalations } = await api<{ escalations: { escalation_id: string }[] }>(
      console_.url,
      own.admin,
      "GET",
      "/v1/escalations?agent_id=bot-similar&status=pending&limit=200",
    );
    expect(escalations).toHaveLength(100);
    const path = `/escalations/${escalations[0]?.escalation_id}`;
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto(path);
    await page.getByText("1 of 1 like this were approved.").waitFor();
    // The first page has no similar case, but more pages follow.
    await page.route("**/v1/escalations?*agent_id=bot-similar*", (route) =>
      route.fulfill({ json: { escalations: [], next_cursor: "more" } }),
    );
    await page.goto(path);
    await page.getByText("None with this tool among the last 100 of this agent that were decided.").waitFor();
    await page.unroute("**/v1/escalations?*agent_id=bot-similar*");
    await follow(page, `/escalations/${decided.decision.escalation_id}`);
    await page.getByText("No other of this agent with this tool has been decided so far.").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("with more than a page of waiting actions, the first to expire is on top, however old", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const urgent = await submit(
      console_.url,
      own.agent,
      intent("other.refund", { amount_usd: 505 }, { agent: "bot-urgent", target: "cus_urgent" }),
    );
    for (let batch = 0; batch < 3; batch += 1)
      await api(console_.url, own.agent, "POST", "/v1/intents/batch", {
        intents: Array.from({ length: 50 }, (_, at) =>
          intent("other.refund", { amount_usd: 600 }, { agent: "bot-crowd", target: `cus_${batch}_${at}` }),
        ),
      });
    await deadlineIn(console_.database.db, [urgent.decision.escalation_id ?? ""], "5 minutes");
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    await page.goto("/review");
    await page.getByText("100 shown").waitFor();
    await page.locator(".entry").first().getByText("cus_urgent").waitFor();
    await page.getByRole("article", { name: "Escalation" }).getByText("cus_urgent").first().waitFor();
    await page.getByRole("button", { name: "More escalations" }).click();
    await page.getByText("151 shown, all").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("reports a lost connection, and continues when the service answers again", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, context } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review");
    await page.getByRole("heading", { name: "Review queue" }).waitFor();
    await context.setOffline(true);
    await page.getByText("No connection to the service").waitFor();
    await raise(1_234, "cus_back");
    await context.setOffline(false);
    await page.getByText("No connection to the service").waitFor({ state: "hidden" });
    await page.locator(".entry").getByText("cus_back").first().waitFor({ timeout: patience_ms });
  });
});
