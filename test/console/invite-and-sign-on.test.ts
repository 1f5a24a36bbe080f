import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { counted } from "./counted.ts";
import { seedLive } from "./seed.ts";

const console_ = await consoleUnderTest();

/**
 * At commit 852b97c0: the page of people (1); a button, a paste and Enter for each of three people (9); Settings and the
 * first field (2); three pastes with a Tab after each (6); the domain, typed by hand (12); Enter (1).
 */
const actions_before = 31;

inBrowser("the job: invite three people and set up single sign-on", () => {
  test(`takes at most half of the ${actions_before} keystrokes and clicks that it took earlier`, {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const { session } = await console_.join(seeded.admin, "ann@acme.example", "admin");
    const { page, wrongs } = await console_.open({ session });
    let saved: unknown;
    await page.route("**/v1/auth/sso", async (route) => {
      if (route.request().method() !== "PUT") return route.fallback();
      saved = route.request().postDataJSON();
      await route.fulfill({ status: 200, json: { single_sign_on: {} } });
    });
    await page.goto("/");
    const person = counted(page);
    await person.click(page.getByRole("link", { name: "People", exact: true }));
    await person.click(page.getByRole("button", { name: "Invite somebody" }));
    await page.getByLabel("E-mail", { exact: true }).waitFor();
    await person.paste("bob@acme.example, cleo@acme.example, dan@acme.example");
    await person.press("Enter");
    const invitations = page.getByRole("region", { name: "Invitations" });
    await invitations.getByText("dan@acme.example").waitFor();
    expect(await invitations.getByRole("listitem").count()).toBe(3);

    await person.click(page.getByLabel("Issuer"));
    await person.paste("https://id.acme.example");
    await person.press("Tab");
    await person.paste("client");
    await person.press("Tab");
    await person.paste("secret");
    await person.press("Enter");
    await expect
      .poll(() => saved)
      .toMatchObject({ issuer: "https://id.acme.example", client_id: "client", email_domains: ["acme.example"] });
    expect(person.count()).toBeLessThanOrEqual(actions_before / 2);

    await invitations
      .getByRole("listitem")
      .filter({ hasText: "bob@" })
      .getByRole("button", { name: "Send again" })
      .click();
    await page.getByText("The link in the first mail is no longer valid.").waitFor();
    expect(wrongs).toEqual([]);
  });
});
