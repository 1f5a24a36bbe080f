import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type Person, password } from "./people.ts";
import { intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("signing in on the way to a page", () => {
  let seeded: Seeded;
  let rita: Person;
  let path = "";
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
    rita = await console_.join(seeded.admin, "rita@example.com", "reviewer");
    const { decision } = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    path = `/escalations/${decision.escalation_id}`;
  }, test_timeout_ms);

  test("reports a session that ends while a reviewer writes, and returns to the case", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, context } = await console_.open({ session: rita.session });
    await page.goto(path);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    await page.keyboard.type("not this one");
    await context.clearCookies();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("alert").getByText("Your session has ended").waitFor();
    await page.getByLabel("E-mail", { exact: true }).fill(rita.email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.locator(".rulebar button:enabled").first().waitFor();
    expect(new URL(page.url()).pathname).toBe(path);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign out and lose it" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByText("Your session has ended").count()).toBe(0);
  });

  test("signing out everywhere announces, then deletes all drafts", {
    timeout: test_timeout_ms,
  }, async () => {
    const vera = await console_.join(seeded.admin, "vera@example.com", "reviewer");
    const { page, wrongs } = await console_.open({ session: vera.session });
    const drafts = () =>
      page.evaluate<string[]>("Object.keys(sessionStorage).filter((name) => name.includes('draft'))");
    await page.goto(path);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("b");
    await page.keyboard.type("not this one");
    expect(await drafts()).toHaveLength(1);
    await page.goto("/settings");
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    const question = page.getByRole("dialog", { name: "Sign out everywhere?" });
    await question.getByText("Unsaved text in this tab is deleted.").waitFor();
    await question.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await drafts()).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("a provider's login returns to the case of the mailed link", { timeout: test_timeout_ms }, async () => {
    const { page, wrongs, context } = await console_.open();
    const callback = `/sso/callback/${seeded.org_id}?code=c&state=s`;
    await page.route("**/v1/auth/sso/begin", (route) =>
      route.fulfill({ json: { single_sign_on: { location: console_.url + callback } } }),
    );
    const { session } = await console_.join(seeded.admin, "sven@example.com", "reviewer");
    await page.route("**/v1/auth/sso/finish", async (route) => {
      const [name = "", value = ""] = session.split("=");
      await context.addCookies([{ name, value, url: console_.url, httpOnly: true, sameSite: "Lax" }]);
      await route.fulfill({ json: { session: { mfa_required: false } } });
    });
    await page.goto(path);
    await page.getByText("Through your organization").click();
    await page.getByLabel("Work e-mail").fill("sven@example.com");
    await page.getByRole("button", { name: "Go to your organization" }).click();
    await page.locator(".rulebar button:enabled").first().waitFor();
    expect(new URL(page.url()).pathname).toBe(path);
    // The kept address works once: the next login opens the start page.
    await page.goto(callback);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(wrongs).toEqual([]);
  });
});
