import { limits } from "@countersign/contract";
import { Secret, TOTP } from "otpauth";
import { expect, test } from "vitest";
import { addVirtualAuthenticator, pressEscape } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api, intent, refundPolicy, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("accounts", () => {
  test("sign up, confirm, set up a second factor, sign in with it, and decide for a waiting agent", {
    timeout: test_timeout_ms,
  }, async () => {
    const email = "ann@example.com";
    const { page, wrongs } = await console_.open();
    // Another organization's key ends open mode, so the console requires sign-in.
    await api(console_.url, null, "POST", "/v1/onboarding/quickstart", {
      org_name: "Other",
      email: "other@example.com",
      description: "other",
    });
    await page.goto("/login");
    await page.getByRole("link", { name: "Create an account" }).click();
    await page.getByLabel("Organization").fill("Harbour Goods");
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Check your mail" }).waitFor();
    const confirm = await console_.mailedPath(email, /^Confirm/);
    await page.goto(confirm);
    // Simulates another person who signed up with this address and a different password.
    await page.getByLabel("Password").fill("another horse, another battery");
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("That is not correct").waitFor();
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("Your address is confirmed").waitFor();
    await page.getByRole("link", { name: "Sign in" }).click();
    const enter = async (word: string) => {
      await page.getByLabel("E-mail", { exact: true }).fill(email);
      await page.getByLabel("Password").fill(word);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
    };
    await enter("wrong horse battery staple");
    await page.getByText("That is not correct").waitFor();
    await enter(password);
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByRole("img", { name: "QR code of the secret" }).waitFor();
    const secret = (await page.locator("dialog .secret code").textContent()) ?? "";
    await page.getByLabel("Code of the authenticator").fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("heading", { name: "Recovery codes" }).waitFor();
    await pressEscape(page);
    const codes = ((await page.locator("dialog pre").textContent()) ?? "").split("\n");
    expect(codes.length).toBeGreaterThan(5);
    await page.getByRole("button", { name: "I have stored them" }).click();
    await page.getByText("On: signing in asks for a code").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();

    await enter(password);
    await page.getByRole("heading", { name: "Second step" }).waitFor();
    await page.getByLabel("Code").fill(codes[0] ?? "");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();

    await page.getByRole("link", { name: "API keys" }).click();
    const create = async (role: string) => {
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByLabel("Role").selectOption(role);
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByText("It is shown only here.").waitFor();
      await pressEscape(page);
      const made = (await page.locator("dialog .secret code").textContent()) ?? "";
      await page.getByRole("button", { name: "I have stored it" }).click();
      return made;
    };
    const admin = await create("admin");
    const { membranes } = await api<{ membranes: { membrane_id: string }[] }>(
      console_.url,
      admin,
      "GET",
      "/v1/membranes",
    );
    const membrane = `/v1/membranes/${membranes[0]?.membrane_id}`;
    await api(console_.url, admin, "PATCH", membrane, { packs: [] });
    await api(console_.url, admin, "POST", `${membrane}/go-live`);
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, admin, "POST", "/v1/policies", {
      policy: refundPolicy,
    });
    await api(console_.url, admin, "POST", `/v1/policies/${saved.policy.policy_id}/activate`, { mode: "live" });

    // The creator of the agent's key must not decide on its actions, so another person is invited.
    await page.getByRole("link", { name: "People" }).click();
    await page.getByRole("button", { name: "Invite somebody" }).click();
    await page.getByLabel("E-mail", { exact: true }).fill("bob@example.com");
    await page.getByRole("button", { name: "Send invitation" }).click();
    await page.getByRole("region", { name: "Invitations" }).getByText("bob@example.com").waitFor();
    const bob = await console_.open();
    await bob.page.goto(await console_.mailedPath("bob@example.com", /^Join/));
    await bob.page.getByLabel("Password").fill(password);
    await bob.page.getByRole("button", { name: "Join" }).click();
    await bob.page.getByRole("heading", { name: "Overview" }).waitFor();
    await bob.page.getByRole("link", { name: /^Review queue/ }).click();

    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "bob@example.com" });
    await row.getByRole("button", { name: "Remove" }).click();
    const removal = page.getByRole("dialog");
    await removal
      .getByText("If the person made keys, webhooks or invitations, you choose next what happens to them.")
      .waitFor();
    await removal.getByText("Reviews assigned to this person wait until you reassign them").waitFor();
    await removal.getByRole("button", { name: "Cancel" }).click();

    const raised = await submit(console_.url, admin, intent("other.refund", { amount_usd: 800 }));
    const path = `/v1/intents/${raised.intent_id}/decision?wait=55`;
    const answer = api<{ decision: { outcome: string | null } }>(console_.url, admin, "GET", path);
    await page.getByRole("link", { name: /^Review queue/ }).click();
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByText("You cannot decide on your own action").waitFor();
    await bob.page.locator(".rulebar button:enabled").first().waitFor();
    await bob.page.keyboard.press("a");
    await bob.page.getByRole("dialog").waitFor();
    await bob.page.keyboard.press("Control+Enter");
    expect((await answer).decision.outcome).toBe("approve");
    expect(await bob.page.getByRole("link", { name: "API keys" }).count()).toBe(0);
    expect([...wrongs, ...bob.wrongs]).toEqual([]);
  });

  test("a used or wrong link says so and gives a next step; a forgotten password is reset by mail", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    await page.goto("/verify-email?token=nothing");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("This link is no longer valid").waitFor();
    await page.getByRole("link", { name: "sign up again" }).waitFor();
    await page.goto(`/sso/callback/org_${"0".repeat(26)}?code=nothing&state=nothing`);
    await page.getByRole("link", { name: "Begin again" }).click();
    await page.getByText("Through your organization").click();
    await page.getByLabel("Work e-mail").fill("ann@nowhere.example");
    await page.getByRole("button", { name: "Go to your organization" }).click();
    await page.getByText("Nobody can sign in this way").waitFor();
    await page.goto("/forgot-password");
    await page.getByLabel("E-mail", { exact: true }).fill("bob@example.com");
    await page.getByRole("button", { name: "Send a link" }).click();
    await page.getByRole("heading", { name: "Check your mail" }).waitFor();
    await page.goto(await console_.mailedPath("bob@example.com", /password/i));
    await page.getByLabel("Password").fill("another horse, another battery");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("You are signed out everywhere").waitFor();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("E-mail", { exact: true }).fill("bob@example.com");
    await page.getByLabel("Password").fill("another horse, another battery");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("region", { name: "Sessions" }).getByText("this one").waitFor();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    const question = page.getByRole("dialog", { name: "Sign out everywhere?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await page.reload();
    await page.getByRole("region", { name: "Sessions" }).getByText("this one").waitFor();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await question.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test.each([
    ["/verify-email", "Confirm"],
    ["/reset-password", "Set password"],
    ["/invitation", "Join"],
    ["/unsubscribe", "Stop these mails"],
    ["/v1/unsubscribe", "Stop these mails"],
  ])(
    "the token of a link to %s is used, then removed from the address and the tab's history",
    {
      timeout: test_timeout_ms,
    },
    async (path, button) => {
      const token = "the-token-of-a-mail";
      const { page, wrongs, context } = await console_.open();
      await page.goto(`${path}?token=${token}`);
      const go = page.getByRole("button", { name: button });
      await go.waitFor();
      await expect.poll(() => page.url()).toBe(`${console_.url}${path}`);
      const browser = await context.newCDPSession(page);
      const { entries } = await browser.send("Page.getNavigationHistory");
      expect(entries.map(({ url }) => url).join()).not.toContain(token);
      if (!path.endsWith("/unsubscribe")) await page.getByLabel("Password").fill(password);
      const [sent] = await Promise.all([page.waitForRequest((request) => request.method() === "POST"), go.click()]);
      expect(sent.postData() ?? sent.url()).toContain(token);
      expect(wrongs).toEqual([]);
    },
  );

  test("a passkey of a virtual authenticator is added, and signs in without a password", {
    timeout: test_timeout_ms,
  }, async () => {
    const email = "cleo@example.com";
    const watched = await console_.open({}, console_.named_url);
    const { page, wrongs } = watched;
    await addVirtualAuthenticator(watched);
    await api(console_.url, null, "POST", "/v1/auth/signup", { org_name: "Passkeys", email, password });
    await page.goto(await console_.mailedPath(email, /^Confirm/));
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("my laptop");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("region", { name: "Passkeys" }).getByText("my laptop").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await page.getByRole("region", { name: "Passkeys" }).getByText(", used").waitFor();
    expect(wrongs).toEqual([]);
  });

  // Must run last, because it moves the clock.
  test("expired links and withdrawn invitations say so and give a next step", {
    timeout: test_timeout_ms,
  }, async () => {
    const made = await api<{ api_key: string }>(console_.url, null, "POST", "/v1/onboarding/quickstart", {
      org_name: "Late",
      email: "late@example.com",
      description: "late",
    });
    const invite = (email: string) =>
      api<{ invitation: { invitation_id: string } }>(console_.url, made.api_key, "POST", "/v1/auth/invitations", {
        email,
        role: "reviewer",
      });
    await api(console_.url, null, "POST", "/v1/auth/signup", { org_name: "Slow", email: "slow@example.com", password });
    await console_.join(made.api_key, "forgetful@example.com", "reviewer");
    await api(console_.url, null, "POST", "/v1/auth/password/forgot", { email: "forgetful@example.com" });
    await invite("guest@example.com");
    const { invitation } = await invite("nobody@example.com");
    const withdrawn = await console_.mailedPath("nobody@example.com", /^Join/);
    await api(console_.url, made.api_key, "DELETE", `/v1/auth/invitations/${invitation.invitation_id}`);
    const expired = [
      [await console_.mailedPath("slow@example.com", /^Confirm/), "Confirm", "sign up again"],
      [await console_.mailedPath("forgetful@example.com", /password/i), "Set password", "Ask for another"],
      [await console_.mailedPath("guest@example.com", /^Join/), "Join", null],
    ] as const;

    const { page, wrongs } = await console_.open();
    const use = async (path: string, button: string) => {
      await page.goto(path);
      await page.getByLabel("Password").fill("a password that comes too late");
      await page.getByRole("button", { name: button }).click();
      await page.getByText("This link is no longer valid").waitFor();
    };
    await use(withdrawn, "Join");
    await console_.advance(limits.invitation_link_seconds + 1);
    for (const [path, button, further] of expired) {
      await use(path, button);
      if (further === null) await page.getByText("Ask the person who invited you for another.").waitFor();
      else await page.getByRole("link", { name: further }).waitFor();
    }
    expect(wrongs).toEqual([]);
  });
});
