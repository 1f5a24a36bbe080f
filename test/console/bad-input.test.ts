import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { followLoaded, openLoaded } from "./accessibility.ts";
import { follow, paste, patience_ms } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, hostile, intent, refundPolicy, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

const megabytes = "megabytes ".repeat(120_000);

/** No text may change the title of the page or add elements to it. */
const untouched = async (page: Page) => {
  expect(await page.title()).toMatch(/Countersign$/);
  expect(await page.locator("img[src=x], main script, main iframe, main style, a[href^='javascript:']").count()).toBe(
    0,
  );
};

inBrowser("bad input", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("megabytes pasted into a filter, a comment or parameters are cut or refused, and the page keeps working", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 800 }));
    // Not the admin's key: it created the agent's key, so it must not decide on the agent's actions.
    const { page, wrongs, context } = await console_.open({ api_key: seeded.reviewer });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const pasteHere = async () => {
      await page.evaluate(
        (text) =>
          (
            globalThis as never as { navigator: { clipboard: { writeText(text: string): Promise<void> } } }
          ).navigator.clipboard.writeText(text),
        megabytes,
      );
      await page.keyboard.press("Control+v");
    };
    await openLoaded(page, "/decisions");
    await page.getByLabel("Agent").focus();
    await pasteHere();
    expect((await page.getByLabel("Agent").inputValue()).length).toBe(128);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No decision matches" }).waitFor();

    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^With changes/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "As JSON" }).click();
    await dialog.getByLabel("Comment").focus();
    await pasteHere();
    expect((await dialog.getByLabel("Comment").inputValue()).length).toBe(4_000);
    await dialog.getByLabel("Parameters as JSON").focus();
    await page.keyboard.press("Control+a");
    await pasteHere();
    await dialog.getByText("This is more than 1 MB").waitFor();
    expect(await dialog.getByRole("button", { name: /^Approve changed action/ }).isDisabled()).toBe(true);
    await dialog.getByLabel("Parameters as JSON").fill('{"amount_usd": 40}');
    await dialog.getByRole("button", { name: /^Approve changed action/ }).click();
    await page.getByText("Outcome: approved with changes").waitFor();

    expect(wrongs).toEqual([]);
  });

  test("Ctrl+Enter on invalid JSON or without changes says why nothing was sent", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 800 }));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^With changes/ }).click();
    await page.getByRole("button", { name: "As JSON" }).click();
    const editor = page.getByRole("dialog").getByLabel("Parameters as JSON");
    const said = page.getByRole("dialog").getByRole("alert");
    await editor.fill("{ not json");
    await page.keyboard.press("Control+Enter");
    await said.getByText("This is not JSON yet").waitFor();
    await editor.fill('{"amount_usd": 800}');
    await said.waitFor({ state: "detached" });
    await page.keyboard.press("Control+Enter");
    await said.getByText("The parameters are unchanged.").waitFor();
    await editor.fill('{"amount_usd": 40}');
    await page.keyboard.press("Control+Enter");
    await page.getByText("Outcome: approved with changes").waitFor();

    expect(wrongs).toEqual([]);
  });

  test("hidden and reordering characters of an action are escapes in its editor, and stay unchanged", {
    timeout: test_timeout_ms,
  }, async () => {
    const content = { amount_usd: 800, file: hostile.reversed, [hostile.hidden]: hostile.terminal };
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", content));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto(`/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: /^With changes/ }).click();
    await page.getByRole("button", { name: "As JSON" }).click();
    const field = page.getByRole("dialog").getByLabel("Parameters as JSON");
    const text = await field.inputValue();
    expect(text).toContain('"invoice\\u202egpj.exe"');
    expect(text).not.toMatch(/[\u202e\u200b\u00ad\u001b\u{e0041}]/u);
    const approve = page.getByRole("button", { name: /^Approve changed action/ });
    expect(await approve.isDisabled()).toBe(true);
    await field.fill(text.replace("800", "40"));
    await approve.click();
    await page.getByText("Outcome: approved with changes").waitFor();
    const path = `/v1/intents/${raised.intent_id}/decision`;
    const { decision } = await api<{ decision: object }>(console_.url, seeded.admin, "GET", path);
    expect(decision).toMatchObject({ modified_content: { ...content, amount_usd: 40 } });
    expect(wrongs).toEqual([]);
  });

  test("hidden and reordering characters of a policy are escapes in heading and text, and are saved unchanged", {
    timeout: test_timeout_ms,
  }, async () => {
    const title = `${hostile.reversed} ${hostile.hidden}`;
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "reads-otherwise", title },
      spec: { match: { actions: ["other.refund"] }, when: 'params.to == "\u202elive\u202c"', effect: "block" },
    };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
      policy,
    });
    const path = `/policies/${saved.policy.policy_id}`;
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto(path);
    const editor = page.locator("[data-editor]");
    await editor.getByText("reads-otherwise").waitFor();
    const hides = /[\u202a-\u202e\u200b\u00ad\u{e0041}]/u;
    const shown = "invoice\\u202egpj.exe pay\\u200bpal\\u00ad\\u{e0041}";
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(shown);
    await expect.poll(() => page.title()).toBe(`${shown} · Countersign`);
    expect(await editor.textContent()).toContain(shown);
    expect(await editor.textContent()).toContain('"\\u202elive\\u202c"');
    expect(await editor.textContent()).not.toMatch(hides);
    await editor.click();
    await page.keyboard.press("Control+End");
    await paste(editor, "\n  message: seen");
    await page.getByRole("button", { name: "Save new version" }).click();
    await page.getByText("Saved as version 2").waitFor();
    const after = await api<{ policy: { document: object } }>(console_.url, seeded.admin, "GET", `/v1${path}`);
    expect(after.policy.document).toMatchObject(policy);
    expect(wrongs).toEqual([]);
  });

  test("megabytes pasted into a policy are refused with a reason, and the editor keeps working", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+a");
    await paste(editor, megabytes);
    await page.getByText("This is more than 1 MB").first().waitFor();
    await editor.click();
    await page.keyboard.press("Control+a");
    const other = { ...refundPolicy, metadata: { ...refundPolicy.metadata, name: "after-megabytes" } };
    await paste(editor, JSON.stringify(other));
    await page.getByText("No errors; there are no tests.").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a name of spaces is refused at its field, and a nonsense address shows a page with advice", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    await page.getByRole("button", { name: "Add a membrane" }).click();
    const name = page.getByRole("dialog").getByLabel("Name");
    await name.fill("   ");
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    expect(
      await name.evaluate(
        (input: never) => (input as { validity: { patternMismatch: boolean } }).validity.patternMismatch,
      ),
    ).toBe(true);
    expect(await page.getByRole("dialog").count()).toBe(1);
    // A single-line field keeps line separators of pasted text.
    await name.fill("of two\u2028lines");
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });

    await follow(page, "/backtest?days=abc");
    expect(await page.getByLabel("Actions of").inputValue()).toBe("7");
    const asked = page.waitForRequest((request) => request.url().endsWith("/v1/learning/backtest"));
    await page.route("**/v1/learning/backtest", (route) => route.abort());
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const { window } = (await asked).postDataJSON() as { window: { from: string; to: string } };
    expect(Date.parse(window.to) - Date.parse(window.from)).toBe(7 * 86_400_000);
    expect(await page.getByText("Something went wrong").count()).toBe(0);

    await follow(page, "/policies/pol_01KAAAAAAAAAAAAAAAAAAAAAAA");
    await page.getByRole("heading", { level: 1, name: "Policy" }).waitFor();
    await page.getByRole("heading", { name: "This does not exist" }).waitFor();
    expect(await page.title()).toBe("Policy · Countersign");
  });

  test("script typed into every text field stays text on every page that shows it", {
    timeout: test_timeout_ms,
  }, async () => {
    const script = hostile.markup;
    const person = await console_.join(seeded.admin, "ann@example.com", "admin");
    const { page, wrongs } = await console_.open({ session: person.session });
    const dialog = page.getByRole("dialog");

    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await dialog.getByLabel("Name").fill(script);
    await dialog.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("row").filter({ hasText: script }).waitFor();
    await untouched(page);

    await follow(page, "/webhooks");
    await page.getByRole("button", { name: "Add a webhook" }).click();
    await dialog.getByLabel("Address").fill(`https://hooks.example.com/${script}`);
    await dialog.getByLabel("Note").fill(script);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByText(script).first().waitFor();
    await untouched(page);

    await follow(page, "/membranes");
    await page.getByRole("button", { name: "Add a membrane" }).click();
    await dialog.getByLabel("Name").fill(script);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: script }).waitFor();
    await untouched(page);

    await follow(page, "/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+a");
    const title = `Refunds ${script}`;
    const metadata = { name: "scripted", title, citations: [script], tags: [] };
    const spec = { ...refundPolicy.spec, match: { actions: ["other.scripted"] }, when: "true", message: script };
    await paste(editor, JSON.stringify({ ...refundPolicy, metadata, spec: { ...spec, effect: "block" } }));
    await page.getByText("No errors; there are no tests.").waitFor();
    await page.getByRole("button", { name: "Save policy" }).click();
    await page.getByRole("heading", { name: title }).waitFor();
    await untouched(page);
    await page.getByRole("button", { name: "Activate", exact: true }).click();
    await dialog.getByRole("button", { name: "Activate", exact: true }).click();
    await page.getByText("Version 1 is active.").waitFor();
    await follow(page, "/policies");
    await page.getByText(title).first().waitFor();
    await untouched(page);

    const blocked = await submit(console_.url, seeded.agent, intent("other.scripted", { [script]: script }));
    await follow(page, `/decisions/${blocked.intent_id}`);
    await page.getByText(script).first().waitFor();
    await page.getByRole("button", { name: "Override this block" }).click();
    await dialog.getByLabel("Reason").fill(script);
    await dialog.getByRole("button", { name: "Override", exact: true }).click();
    await page.getByRole("region", { name: "Override" }).getByText(script).waitFor();
    await untouched(page);
    await follow(page, "/overrides");
    await page.getByRole("cell", { name: script }).waitFor();
    await untouched(page);

    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    await follow(page, `/escalations/${raised.decision.escalation_id}`);
    await page.getByRole("button", { name: "Reassign" }).click();
    await dialog.getByLabel("Reason").fill(script);
    await dialog.getByRole("button", { name: "Hand over" }).click();
    await page.getByRole("button", { name: /^Block/ }).click();
    await dialog.getByLabel("Comment").fill(script);
    await dialog.getByRole("button", { name: /^Block/ }).click();
    await page.getByText("Outcome: blocked").waitFor();
    await page.getByRole("region", { name: "Review" }).getByText(script).waitFor();
    await untouched(page);

    for (const [path, label] of [
      ["/review", "Agent"],
      ["/decisions", "Agent"],
      ["/audit", "Find audit rows"],
      ["/packs", "Search rules and citations"],
      ["/backtest", "Agent"],
    ] as const) {
      await followLoaded(page, path);
      await page.getByLabel(label, { exact: true }).fill(script);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator(".skeleton").count(), { timeout: patience_ms }).toBe(0);
      await untouched(page);
    }
    for (const path of [
      `/decisions/${encodeURIComponent(script)}`,
      `/${encodeURIComponent(script)}`,
      `/?span=${encodeURIComponent(script)}`,
    ]) {
      await page.goto(path);
      await page.getByRole("heading").first().waitFor();
      await untouched(page);
    }
    expect(wrongs).toEqual([]);
  });

  test("a policy nested thousands of levels deep is reported, also after a return to the page, and can be undone", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.waitFor();
    await editor.click();
    await page.keyboard.press("ControlOrMeta+a");
    await paste(editor, "[".repeat(5_000));
    await page.getByText("The document is nested too deeply.").waitFor();
    await page.reload();
    await editor.waitFor();
    await page.getByText("The document is nested too deeply.").waitFor();
    await page.getByRole("button", { name: "Take back" }).click();
    await page.getByText(/^No errors/).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("script in the names of an organization and a person never runs", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    await page.goto("/welcome");
    await page.getByLabel("Organization").fill(hostile.markup);
    await page.getByLabel("Your e-mail").fill("ann@example.org");
    await page.getByLabel("What do your agents do?").fill(hostile.markup);
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByRole("heading", { name: "Your organization is ready" }).waitFor();
    await untouched(page);
    await page.getByRole("button", { name: "Open the console" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText(hostile.markup.slice(0, 40)).first().waitFor();
    await untouched(page);
    await page.goto("/settings");
    await page.getByText(hostile.markup).first().waitFor();
    await untouched(page);
    expect(wrongs).toEqual([]);
  });
});
