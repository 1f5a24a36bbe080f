import { Secret, TOTP } from "otpauth";
import { beforeAll, expect, test } from "vitest";
import { followLoaded, in_dialog, openLoaded, sidewaysOf, violationsInBoth } from "./accessibility.ts";
import { addVirtualAuthenticator } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, type Seeded, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the account", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    for (const role of ["reviewer", "auditor"])
      await api(console_.url, seeded.admin, "POST", "/v1/auth/invitations", { email: `${role}@example.com`, role });
    await console_.join(seeded.admin, "olga@example.com", "operator");
  }, test_timeout_ms);

  test("and the people page have no accessibility violation that axe can find, with every dialog, and fit 360 px", {
    timeout: test_timeout_ms,
  }, async () => {
    const { session } = await console_.join(seeded.admin, "ann@example.com", "admin");
    const watched = await console_.open({ session }, console_.named_url);
    const { page, wrongs } = watched;
    await addVirtualAuthenticator(watched);
    const sound = async (what: string) => expect(await violationsInBoth(page), what).toEqual([]);
    const soundDialog = async (what: string) => expect(await violationsInBoth(page, in_dialog), what).toEqual([]);
    const dialog = page.getByRole("dialog");
    const said = (what: string) => page.getByRole("region", { name: "Messages" }).getByText(what).waitFor();

    await openLoaded(page, "/settings");
    await page.getByText("Off. A password alone can be guessed").waitFor();
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByRole("img", { name: "QR code of the secret" }).waitFor();
    await soundDialog("second factor");
    const secret = (await dialog.locator(".secret code").textContent()) ?? "";
    await page.getByLabel("Code of the authenticator").fill("000000");
    await page.getByRole("button", { name: "Confirm" }).click();
    await dialog.getByRole("alert").waitFor();
    await soundDialog("a wrong code");
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await page.getByLabel("Code of the authenticator").fill(totp.generate());
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("heading", { name: "Recovery codes" }).waitFor();
    await said("Second factor switched on");
    await soundDialog("recovery codes");
    await page.getByRole("button", { name: "I have stored them" }).click();
    await page.getByRole("button", { name: "New recovery codes" }).click();
    await page.getByLabel("Code of the authenticator").fill(totp.generate({ timestamp: Date.now() + 30_000 }));
    await page.getByRole("button", { name: "Confirm" }).click();
    await said("Recovery codes replaced");
    await page.getByRole("button", { name: "I have stored them" }).click();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await soundDialog("sign out everywhere");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await soundDialog("add a passkey");
    await dialog.getByLabel("Name", { exact: true }).fill("my laptop");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("region", { name: "Passkeys" }).getByText("my laptop").waitFor();
    await page.getByText("On: signing in asks for a code").waitFor();
    await sound("settings with second factor and passkey");

    await followLoaded(page, "/people");
    await page.getByRole("region", { name: "Invitations" }).getByText("auditor@example.com").waitFor();
    await sound("people");
    await page.getByRole("button", { name: "Invite somebody" }).click();
    await soundDialog("invite");
    await page.keyboard.press("Escape");
    await page.getByLabel("Role of olga@example.com").selectOption("auditor");
    await page.getByRole("heading", { name: "Give the role auditor?" }).waitFor();
    await soundDialog("change a role");
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await page.getByLabel("Role of olga@example.com").inputValue()).toBe("operator");

    await page.setViewportSize({ width: 360, height: 740 });
    for (const path of ["/settings", "/people"]) {
      await followLoaded(page, path);
      expect(await sidewaysOf(page), path).toEqual([]);
    }
    expect(wrongs).toEqual([]);
  });

  test("inviting an address again says that the first invitation is replaced, and with which role", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/people");
    const messages = page.getByRole("region", { name: "Messages" });
    const dialog = page.getByRole("dialog");
    const invite = async (email: string, role: string) => {
      await page.getByRole("button", { name: "Invite somebody" }).click();
      await dialog.getByLabel("E-mail").fill(email);
      await dialog.getByLabel("Role").selectOption(role);
      await dialog.getByRole("button", { name: "Send invitation" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await invite("zoe@example.com", "admin");
    await messages.getByText("Invitation sent").waitFor();
    await invite("Zoe@example.com", "reviewer");
    await messages.getByText("This invitation replaces an earlier one").waitFor();
    await messages.getByText("Zoe@example.com was invited as admin, and now as reviewer.").waitFor();
    await invite("zoe@example.com", "reviewer");
    await messages.getByText("Invitation sent again").waitFor();
    const open = page.getByRole("region", { name: "Invitations" }).getByRole("listitem");
    await open.filter({ hasText: "zoe@example.com" }).getByText("reviewer", { exact: true }).waitFor();
    expect(await open.filter({ hasText: "zoe@example.com" }).count()).toBe(1);
    expect(wrongs).toEqual([]);
  });

  const newKeyOf = async (session: string, name: string) => {
    const made = await fetch(`${console_.url}/v1/api-keys`, {
      method: "POST",
      headers: { Cookie: session, Origin: console_.url, "Content-Type": "application/json" },
      body: JSON.stringify({ name, role: "operator" }),
    });
    return (await made.json()) as { api_key: string; key_id: string };
  };
  const acceptedKey = async (api_key: string) =>
    (await fetch(`${console_.url}/v1/me`, { headers: { "X-API-Key": api_key } })).status;

  test("removing a person asks what happens to their keys, and a revoked key is refused from then on", {
    timeout: test_timeout_ms,
  }, async () => {
    await console_.join(seeded.admin, "ines@example.com", "admin");
    const former = await console_.join(seeded.admin, "max@example.com", "admin");
    const newKey = (name: string) => newKeyOf(former.session, name);
    const { api_key } = await newKey("nightly export");
    const ended = await newKey("ended meanwhile");
    const watched = await console_.open({ api_key: seeded.admin });
    const { page } = watched;
    await page.goto("/people");
    const row = page.getByRole("row", { name: /max@example\.com/ });
    await row.getByRole("button", { name: "Remove" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByText("nightly export").waitFor();
    expect(await violationsInBoth(page, in_dialog)).toEqual([]);
    expect(await dialog.getByRole("button", { name: "Remove" }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Keep all" }).click();
    await dialog
      .getByRole("group", { name: /nightly export/ })
      .getByRole("radio", { name: "Revoke" })
      .check();
    const headers = { "X-API-Key": seeded.admin };
    await fetch(`${console_.url}/v1/api-keys/${ended.key_id}`, { method: "DELETE", headers });
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByText("ended meanwhile").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    expect(await acceptedKey(api_key)).toBe(401);
  });

  test("a person who keeps making keys is removed with all of them, even unlisted ones", {
    timeout: test_timeout_ms,
  }, async () => {
    const former = await console_.join(seeded.admin, "eva@example.com", "admin");
    const keys = [await newKeyOf(former.session, "listed first")];
    const watched = await console_.open({ api_key: seeded.admin });
    const { page } = watched;
    await page.goto("/people");
    const row = page.getByRole("row", { name: /eva@example\.com/ });
    await row.getByRole("button", { name: "Remove" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByText("listed first").waitFor();
    expect(await dialog.getByText("This list may be incomplete.").count()).toBe(0);
    await dialog.getByRole("button", { name: "Revoke all" }).click();
    keys.push(await newKeyOf(former.session, "made meanwhile"));
    await dialog.getByRole("button", { name: "Remove" }).click();
    await dialog.getByText("This list may be incomplete.").waitFor();
    await dialog.getByRole("button", { name: "Revoke all" }).click();
    keys.push(await newKeyOf(former.session, "in no list"));
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    for (const { api_key } of keys) expect(await acceptedKey(api_key)).toBe(401);
  });
});
