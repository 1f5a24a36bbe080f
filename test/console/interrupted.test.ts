import { beforeAll, expect, test } from "vitest";
import { paste, pressEscape } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api, intent, refundPolicy, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("interruptions", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("signing out in one tab signs out the other, which hides everything and keeps unsent text", {
    timeout: test_timeout_ms,
  }, async () => {
    const { email, session } = await console_.join(seeded.admin, "ann@example.com", "admin");
    const { page, wrongs, context } = await console_.open({ session });
    const other = await context.newPage();
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+a");
    const written = { ...refundPolicy, metadata: { name: "half-written", title: "Half written" } };
    await paste(editor, JSON.stringify(written, null, 2));
    await page.getByText("No errors; there are no tests.").waitFor();

    await other.goto("/");
    await other.getByRole("button", { name: "Sign out", exact: true }).click();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.locator("body").textContent()).not.toContain("Harbour Goods");

    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Your unsaved text from an earlier visit is back.").waitFor();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByRole("heading", { name: "Half written" }).waitFor();
    // The other tab is signed in too, because both share the session.
    await other.reload();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await other.goto("/policies/new");
    await other.locator("[data-editor]").waitFor();
    expect(await other.getByText("Your unsaved text").count()).toBe(0);
    expect(wrongs).toEqual([]);
  });

  test("signing out with an unsaved policy asks first, then deletes the draft", {
    timeout: test_timeout_ms,
  }, async () => {
    const { email, session } = await console_.join(seeded.admin, "eve@example.com", "admin");
    const { page, wrongs } = await console_.open({ session });
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+a");
    await paste(editor, JSON.stringify({ ...refundPolicy, metadata: { name: "unsaved", title: "Unsaved" } }, null, 2));
    await page.getByText("No errors; there are no tests.").waitFor();
    const dialog = page.getByRole("dialog", { name: "Your text in this tab is not saved" });
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("No errors; there are no tests.").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await dialog.getByRole("button", { name: "Sign out and lose it" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.locator("[data-editor]").waitFor();
    expect(await page.getByText("Your unsaved text").count()).toBe(0);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("reasons, changed parameters and a group's comment survive an ended session until their dialog closes", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = [];
    for (const amount_usd of [961, 962])
      raised.push(
        await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }, { agent: "bot-drafts" })),
      );
    const { session } = await console_.join(seeded.admin, "olga@example.com", "operator");
    const { page, wrongs, context } = await console_.open({ session });
    const cookies = await context.cookies();
    const dialog = page.getByRole("dialog");
    const one = `/escalations/${raised[0]?.decision.escalation_id}`;
    for (const [path, button, label, text] of [
      [one, /^With changes/, "Parameters as JSON", '{"amount_usd": 100}'],
      [one, "Reassign", "Reason", "they know the customer"],
      [one, "Cancel review", "Reason", "asked twice"],
      ["/review?agent_id=bot-drafts", "Rule on all 2", "Comment on each", "all of the outage"],
    ] as const) {
      const open = async () => {
        await page.getByRole("button", { name: button }).click();
        if (label === "Parameters as JSON") await dialog.getByRole("button", { name: "As JSON" }).click();
        return dialog.getByLabel(label);
      };
      await page.goto(path);
      const untouched = await (await open()).inputValue();
      await dialog.getByLabel(label).fill(text);
      await context.clearCookies();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await context.addCookies(cookies);
      await page.goto(path);
      expect(await (await open()).inputValue(), String(button)).toBe(text);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      expect(await (await open()).inputValue(), String(button)).toBe(untouched);
    }
    expect(wrongs).toEqual([]);
  });

  test("drops changed parameters only after a confirmation, on Escape as on Cancel; asks nothing without changes", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 970 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    const asked: string[] = [];
    let answer: "accept" | "dismiss" = "dismiss";
    page.removeAllListeners("dialog");
    page.on("dialog", (question) => {
      asked.push(question.message());
      void question[answer]();
    });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    const dialog = page.getByRole("dialog");
    const parameters = dialog.getByLabel("Parameters as JSON");
    const open = async () => {
      await page.getByRole("button", { name: /^With changes/ }).click();
      await dialog.getByRole("button", { name: "As JSON" }).click();
    };
    await open();
    const untouched = await parameters.inputValue();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(asked).toEqual([]);
    await open();
    await parameters.fill('{"amount_usd": 100}');
    await pressEscape(page);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await parameters.inputValue()).toBe('{"amount_usd": 100}');
    expect(new Set(asked)).toEqual(new Set(["Leave without sending your changes?"]));
    answer = "accept";
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    await open();
    expect(await parameters.inputValue()).toBe(untouched);
    expect(wrongs).toEqual([]);
  });

  test("with one case in two tabs, the second ruling gets the first one's outcome", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    const { page: other } = await console_.open({ api_key: seeded.reviewer });
    const path = `/escalations/${raised.decision.escalation_id}`;
    for (const tab of [page, other]) {
      await tab.goto(path);
      await tab
        .getByRole("button", { name: /^(Approve|Block)/ })
        .first()
        .waitFor();
    }
    await page.getByRole("button", { name: /^Approve/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Approve/ })
      .click();
    await page.getByText("Outcome: approved").waitFor();
    await other.bringToFront();
    await other.getByText("Outcome: approved").waitFor();
    expect(await other.getByRole("button", { name: /^(Approve|Block)/ }).count()).toBe(0);
    const { audit } = await api<{ audit: { type: string }[] }>(
      console_.url,
      seeded.admin,
      "GET",
      `/v1/intents/${raised.intent_id}/audit`,
    );
    expect(audit.filter(({ type }) => type === "voted")).toHaveLength(1);
    expect(wrongs).toEqual([]);
  });

  test("a key whose creation lost its answer and was retried exists once, and the page says that its text is lost", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page } = await console_.open({ api_key: seeded.admin });
    let lost = 0;
    await page.route("**/v1/api-keys", async (route) => {
      if (route.request().method() !== "POST" || lost === 3) return route.continue();
      lost += 1;
      // Refused at the gate, so the answer says nothing about the earlier requests.
      if (lost === 3) return route.fulfill({ status: 429, headers: { "retry-after": "40" }, body: "" });
      await route.fetch();
      await route.abort("connectionreset");
    });
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("made once");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("dialog").getByText("The service does not answer").waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("dialog").getByText("Try again in 40 seconds").waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("Revoke this key and create another one.").waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    expect(lost).toBe(3);
    const { api_keys } = await api<{ api_keys: { name: string | null }[] }>(
      console_.url,
      seeded.admin,
      "GET",
      "/v1/api-keys?limit=200",
    );
    expect(api_keys.filter(({ name }) => name === "made once")).toHaveLength(1);
  });

  test("a request without an answer, retried after the same person's login in another tab, is done once", {
    timeout: test_timeout_ms,
  }, async () => {
    const { email, session } = await console_.join(seeded.admin, "iris@example.com", "admin");
    const { page, context } = await console_.open({ session });
    let lost = 0;
    await page.route("**/v1/api-keys", async (route) => {
      if (route.request().method() !== "POST" || lost === 2) return route.continue();
      lost += 1;
      await route.fetch();
      await route.abort("connectionreset");
    });
    await page.goto("/keys");
    const create = async () => {
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByLabel("Name").fill("made once by iris");
      await page.getByRole("button", { name: "Create", exact: true }).click();
    };
    await create();
    await page.getByRole("dialog").getByText("The service does not answer").waitFor();
    const other = await context.newPage();
    await other.goto("/");
    await other.getByRole("button", { name: "Sign out", exact: true }).click();
    await other.getByLabel("E-mail", { exact: true }).fill(email);
    await other.getByLabel("Password").fill(password);
    await other.getByRole("button", { name: "Sign in", exact: true }).click();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await page.bringToFront();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await create();
    await page.getByText("Revoke this key and create another one.").waitFor();
    const { api_keys } = await api<{ api_keys: { name: string | null }[] }>(
      console_.url,
      seeded.admin,
      "GET",
      "/v1/api-keys?limit=200",
    );
    expect(api_keys.filter(({ name }) => name === "made once by iris")).toHaveLength(1);
  });

  test("recognizes a ruling whose answers were lost as one's own", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 940 }));
    const { page } = await console_.open({ api_key: seeded.reviewer });
    await page.route("**/decision", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      // The service counts the vote, but its answer never arrives.
      await route.fetch();
      await route.abort("connectionreset");
    });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^Approve/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: /^Approve/ }).click();
    await dialog.getByText("This has ended meanwhile: approved").waitFor();
    expect(await dialog.textContent()).toContain("Decided by you");
  });

  test("a ruling that cannot be sent stays in its dialog with its comment, and is sent when the service is back", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 950 }));
    const { page, context } = await console_.open({ api_key: seeded.reviewer });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^Approve/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Comment").fill("called the customer");
    await context.setOffline(true);
    await dialog.getByRole("button", { name: /^Approve/ }).click();
    await dialog.getByText("The service does not answer").waitFor();
    expect(await dialog.getByLabel("Comment").inputValue()).toBe("called the customer");
    await context.setOffline(false);
    await dialog.getByRole("button", { name: /^Approve/ }).click();
    await page.getByText("Outcome: approved").waitFor();
    await page.getByRole("region", { name: "Review" }).getByText("called the customer").waitFor();
  });
});
