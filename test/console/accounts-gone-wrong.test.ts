import { Secret, TOTP } from "otpauth";
import { expect, test } from "vitest";
import { addVirtualAuthenticator } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api } from "./seed.ts";

const console_ = await consoleUnderTest();
const timeout = test_timeout_ms;

let made = 0;

/** Creates an organization with an admin's session and key. A retried test gets another address. */
async function organization(person: string) {
  const email = `${person}-${++made}@example.com`;
  const { api_key } = await api<{ api_key: string }>(console_.url, null, "POST", "/v1/onboarding/quickstart", {
    org_name: "Harbour",
    email,
    description: "harbour",
  });
  const { session } = await console_.join(api_key, email, "admin");
  return { api_key, session, email };
}

async function send(session: string, path: string, body?: object): Promise<Response> {
  const init = {
    headers: { Cookie: session, Origin: console_.url, ...(body && { "Content-Type": "application/json" }) },
  };
  return fetch(console_.url + path, { method: "POST", ...init, ...(body && { body: JSON.stringify(body) }) });
}

async function secondFactor(session: string): Promise<void> {
  const { secret } = (await (await send(session, "/v1/auth/totp/enrol")).json()) as { secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expect((await send(session, "/v1/auth/totp/confirm", { code })).status).toBe(200);
}

inBrowser("accounts after failures", () => {
  test("after too many codes the second step says so and begins again", { timeout }, async () => {
    const { session, email } = await organization("guessing");
    await secondFactor(session);
    const { page, wrongs } = await console_.open();
    await page.goto("/login");
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Second step" }).waitFor();
    await page.getByRole("button", { name: "Begin again" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await console_.advance(61);
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Second step" }).waitFor();
    for (let n = 0; n < 6; n++) {
      await console_.advance(61);
      await page.getByLabel("Code").fill(`wrong-code-${n}`);
      const answered = page.waitForResponse((each) => each.url().endsWith("/mfa/verify"));
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      expect((await answered).status()).toBe(401);
      if (n === 0) await page.getByText("A recovery code must be unused.").waitFor();
    }
    await page.getByText("This sign-in has ended").waitFor();
    await page.getByRole("button", { name: "Begin again" }).click();
    await page.getByLabel("E-mail", { exact: true }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test.each(["/verify-email", "/reset-password", "/invitation"])(
    "a reloaded page of a mailed link refers to the mail instead of asking for a new link: %s",
    { timeout },
    async (path) => {
      const { page, wrongs } = await console_.open();
      await page.goto(`${path}?token=the-token-of-a-mail`);
      await expect.poll(() => page.url()).toBe(console_.url + path);
      await page.reload();
      await page.getByText("open the link in the mail again").waitFor();
      expect(await page.getByRole("link", { name: /again|another/ }).count()).toBe(0);
      expect(wrongs).toEqual([]);
    },
  );

  test("gives the reason of a refusal: the last admin, an address with an account, a wrong password", {
    timeout,
  }, async () => {
    const admin = await organization("only");
    const { page, wrongs } = await console_.open({ session: admin.session });
    await page.goto("/people");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("The last admin stays").waitFor();

    await page.goto("/settings");
    const form = page.getByRole("region", { name: "Password" });
    await form.getByLabel("Current password").fill("wrong horse battery staple");
    await form.getByLabel("New password").fill(password);
    await form.getByRole("button", { name: "Change" }).click();
    await form.getByText("Check the current password.").waitFor();

    const other = await organization("settled");
    await api(console_.url, admin.api_key, "POST", "/v1/auth/invitations", {
      email: other.email,
      role: "reviewer",
    });
    const guest = await console_.open();
    await guest.page.goto(await console_.mailedPath(other.email, /^Join/));
    await guest.page.getByLabel("Password").fill(password);
    await guest.page.getByRole("button", { name: "Join" }).click();
    await guest.page.getByText("This address has an account here already").waitFor();
    expect(await guest.page.getByText("Ask the person who invited you for another").count()).toBe(0);
    expect([...wrongs, ...guest.wrongs]).toEqual([]);
  });

  test("a changed password removes the ended sessions from the list", { timeout }, async () => {
    const { session, email } = await organization("two-devices");
    await console_.advance(61);
    expect((await send("", "/v1/auth/login", { email, password })).status).toBe(200);
    const { page, wrongs } = await console_.open({ session });
    await page.goto("/settings");
    const listed = page.getByRole("region", { name: "Sessions" }).getByRole("listitem");
    await expect.poll(() => listed.count()).toBe(2);
    const form = page.getByRole("region", { name: "Password" });
    expect(await form.locator("input[autocomplete=username]").inputValue()).toBe(email);
    await form.getByLabel("Current password").fill(password);
    await form.getByLabel("New password").fill("another horse, another battery");
    await form.getByRole("button", { name: "Change" }).click();
    await page.getByText("Password changed").waitFor();
    await expect.poll(() => listed.count()).toBe(1);
    expect(wrongs).toEqual([]);
  });

  test("finds every session, even on later pages", { timeout }, async () => {
    const { session, email } = await organization("everywhere");
    await console_.database.db.query(
      `insert into sessions (org_id, session_id, user_id, token_sha256, mfa_pending, client_ip, user_agent, created_at,
         last_seen_at, expires_at)
       select org_id, 'ses_' || lpad(n::text, 26, '0'), user_id, sha256(n::text::bytea), false, client_ip, user_agent,
         created_at, last_seen_at, expires_at
       from sessions, generate_series(1, 204) n where user_id = (select user_id from people where email = $1)`,
      [email],
    );
    const { page, wrongs } = await console_.open({ session });
    await page.goto("/settings");
    const list = page.getByRole("region", { name: "Sessions" });
    for (let number = 1; number <= 4; number += 1) {
      await list.getByText(`page ${number}: 50 shown`).waitFor();
      await list.getByRole("button", { name: "More sessions" }).click();
    }
    await list.getByText("page 5: 5 shown, the last").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a deleted passkey leads to another way to sign in", { timeout }, async () => {
    const { session } = await organization("keyless");
    const watched = await console_.open({ session }, console_.named_url);
    const { page, wrongs } = watched;
    await addVirtualAuthenticator(watched);
    await page.goto("/settings");
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("my laptop");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("region", { name: "Passkeys" }).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Passkey deleted").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText("The service does not know this passkey").waitFor();
    expect(wrongs).toEqual([]);
  });
});
