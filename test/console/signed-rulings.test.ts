import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { addVirtualAuthenticator, type Watched } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("rulings that people confirm", () => {
  let seeded: Seeded;
  let at: string;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    const { membranes } = await api<{ membranes: { membrane_id: string }[] }>(
      ...[console_.url, seeded.admin, "GET", "/v1/membranes"],
    );
    at = `/v1/membranes/${membranes[0]?.membrane_id}`;
  }, test_timeout_ms);

  const confirm = (kind: string | null) =>
    api(console_.url, seeded.admin, "PATCH", at, { escalation: { confirm: kind } });
  const raise = async (target: string) => {
    const parameters = { amount_usd: 750, currency: "USD" };
    const made = intent("other.refund", parameters, { target, agent: `bot-${target}` });
    return (await submit(console_.url, seeded.agent, made)).decision;
  };
  const reviewOf = async (escalation_id: string | null) =>
    (
      await api<{ escalation: { status: string; votes: { confirmed?: string }[] } }>(
        ...[console_.url, seeded.admin, "GET", `/v1/escalations/${escalation_id}`],
      )
    ).escalation;

  let people = 0;
  /** A reviewer who is signed in by name, with a virtual authenticator. */
  async function reviewer(): Promise<Watched & { readonly session: string }> {
    const email = `signer-${++people}@example.com`;
    const { session } = await console_.join(seeded.admin, email, "reviewer");
    const watched = await console_.open({}, console_.named_url);
    await addVirtualAuthenticator(watched);
    await watched.page.goto("/login");
    await watched.page.getByLabel("E-mail", { exact: true }).fill(email);
    await watched.page.getByLabel("Password").fill(password);
    await watched.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await watched.page.getByRole("heading", { name: "Overview" }).waitFor();
    return { ...watched, session };
  }
  const addPasskey = async ({ page }: Watched) => {
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("region", { name: "Passkeys" }).getByText("made").waitFor();
  };

  test("a passkey signs the ruling in one step; a person without one is led to the settings first", {
    timeout: test_timeout_ms,
  }, async () => {
    await confirm("passkey");
    const { escalation_id } = await raise("cus_signed");
    const watched = await reviewer();
    const { page } = watched;
    await page.goto(`/escalations/${escalation_id}`);
    await page.getByText("Each ruling is signed with a passkey.").first().waitFor();
    const dialog = page.getByRole("dialog");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await dialog.getByText("A rule asks you to sign this ruling.").waitFor();
    await dialog.getByLabel("Comment for people").fill("checked");
    await page.keyboard.press("Control+Enter");
    await dialog.getByText("This ruling needs a passkey, and you have none").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    // The settings open in another tab, so the dialog keeps its texts. Here in this one, which has the authenticator.
    expect(await dialog.getByRole("link", { name: "Add a passkey" }).getAttribute("target")).toBe("_blank");
    await page.goto((await dialog.getByRole("link", { name: "Add a passkey" }).getAttribute("href")) ?? "");
    await addPasskey(watched);

    await page.goto(`/escalations/${escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await dialog.waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("Signed with a passkey. The receipt has the signature.").waitFor();
    expect(await reviewOf(escalation_id)).toMatchObject({ status: "decided", votes: [{ confirmed: "passkey" }] });
  });

  test("a change that a person signs runs as it was signed", { timeout: test_timeout_ms }, async () => {
    await confirm("passkey");
    const { escalation_id } = await raise("cus_changed");
    const watched = await reviewer();
    const { page } = watched;
    await page.goto("/settings");
    await addPasskey(watched);
    await page.goto(`/escalations/${escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("m");
    await page.getByRole("button", { name: "As JSON" }).click();
    await page.getByLabel("Parameters as JSON").fill('{"amount_usd": 700, "currency": "USD"}');
    await page.keyboard.press("Control+Enter");
    await page.getByText("Signed with a passkey. The receipt has the signature.").waitFor();
    expect(await reviewOf(escalation_id)).toMatchObject({
      resolution: { outcome: "approve_modified", modifications: [{ path: "/amount_usd", value: 700 }] },
    });
  });

  test("a device that returns nothing leaves the review as it was, and the person can try again", {
    timeout: test_timeout_ms,
  }, async () => {
    await confirm("passkey");
    const { escalation_id } = await raise("cus_nothing");
    const watched = await reviewer();
    const { page } = watched;
    await page.goto("/settings");
    await addPasskey(watched);
    await page.goto(`/escalations/${escalation_id}`);
    await page.evaluate(`{
      const { get } = navigator.credentials;
      let asked = 0;
      navigator.credentials.get = function (options) {
        asked += 1;
        return asked === 1 ? Promise.reject(new DOMException("no", "NotAllowedError")) : get.call(this, options);
      };
    }`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Control+Enter");
    await dialog.getByText("The device returned nothing").waitFor();
    expect(await reviewOf(escalation_id)).toMatchObject({ status: "pending", votes: [] });
    await page.keyboard.press("Control+Enter");
    await page.getByText("Signed with a passkey. The receipt has the signature.").waitFor();
    expect(await reviewOf(escalation_id)).toMatchObject({ status: "decided", resolution: { outcome: "block" } });
  });

  test("a code is asked for in the dialog", { timeout: test_timeout_ms }, async () => {
    await confirm("totp");
    const { escalation_id } = await raise("cus_code");
    const { page } = await reviewer();
    await page.goto("/settings");
    await page.getByRole("button", { name: "Set up" }).click();
    const secret = (await page.locator("dialog .secret code").first().textContent()) ?? "";
    const codeAt = (shift_seconds: number) =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + shift_seconds * 1_000 });
    await page.getByLabel("Code of the authenticator").fill(codeAt(0));
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("button", { name: "I have stored them" }).click();
    await page.getByText("On: signing in asks for a code from your authenticator.").waitFor();
    await page.goto(`/escalations/${escalation_id}`);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Code of your authenticator").fill("12");
    await page.keyboard.press("Control+Enter");
    await dialog.getByText("The confirmation does not fit").waitFor();
    await dialog.getByLabel("Code of your authenticator").fill(codeAt(30));
    await page.keyboard.press("Control+Enter");
    await page.getByText("Confirmed with a code of the authenticator.").waitFor();
    expect(await reviewOf(escalation_id)).toMatchObject({ status: "decided", votes: [{ confirmed: "totp" }] });
  });

  test("a group leaves out what needs a confirmation of its own, and says so", {
    timeout: test_timeout_ms,
  }, async () => {
    await confirm(null);
    const make = (target: string) =>
      submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 760 }, { target, agent: "bot-group" }));
    const free = (await make("cus_1")).decision;
    await confirm("passkey");
    const bound = (await make("cus_2")).decision;
    await confirm(null);
    const { page } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review?agent_id=bot-group");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It needs a confirmation of its own: open it to decide. It is left out.").waitFor();
    await dialog.getByRole("button", { name: "Block 1" }).click();
    await dialog.getByText("1 of 1 done").first().waitFor();
    expect((await reviewOf(free.escalation_id)).status).toBe("decided");
    expect((await reviewOf(bound.escalation_id)).status).toBe("pending");
  });

  test("an admin sets in the membrane what reviewers confirm with", { timeout: test_timeout_ms }, async () => {
    await confirm(null);
    const { page } = await console_.open({ api_key: seeded.admin });
    await page.goto("/membranes");
    await page.getByRole("button", { name: "Change" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reviewers confirm each ruling").selectOption("passkey");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Each ruling is signed with a passkey.").waitFor();
    const { membrane } = await api<{ membrane: { escalation: object } }>(console_.url, seeded.admin, "GET", at);
    expect(membrane.escalation).toMatchObject({ confirm: "passkey" });
    await page.getByRole("button", { name: "Change" }).first().click();
    await dialog.getByLabel("Reviewers confirm each ruling").selectOption("");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Each ruling is signed with a passkey.").waitFor({ state: "detached" });
  });
});
