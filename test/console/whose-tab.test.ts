import { beforeAll, expect, test } from "vitest";
import { paste, type Watched } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type Person, password } from "./people.ts";
import { api, intent, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();
let people = 0;
/** A new address for each run, so a test can be repeated. */
const fresh = (name: string) => `${name}-${++people}@example.com`;

inBrowser("the person of a tab", () => {
  let seeded: Seeded;
  let ann: Person;
  let bob: Person;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 40 }));
    ann = await console_.join(seeded.admin, "ann@example.com", "admin");
    const bakery = await api<{ api_key: string }>(console_.url, null, "POST", "/v1/onboarding/quickstart", {
      org_name: "Lighthouse Bakery",
      email: "bakery@example.com",
      description: "answers customers",
    });
    bob = await console_.join(bakery.api_key, "bob@example.com", "reviewer");
  }, test_timeout_ms);

  const annAtDecisions = async (): Promise<Watched> => {
    const watched = await console_.open({ session: ann.session });
    await watched.page.goto("/decisions");
    await watched.page.getByRole("cell", { name: "support-bot" }).waitFor();
    return watched;
  };
  const isBobs = async ({ page }: Watched) => {
    await page.getByText("Another person is signed in").waitFor();
    await page.getByRole("banner").getByText("Lighthouse Bakery").waitFor();
    await page.getByText("No decisions yet").waitFor();
    expect(await page.locator("body").textContent()).not.toMatch(/Harbour Goods|support-bot/);
    expect(await page.getByRole("link", { name: "API keys" }).count()).toBe(0);
  };

  test("if another person signs in in another tab, it shows only theirs and says so", {
    timeout: test_timeout_ms,
  }, async () => {
    const watched = await annAtDecisions();
    const other = await watched.context.newPage();
    await other.goto("/");
    await other.getByRole("button", { name: "Sign out", exact: true }).click();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await watched.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.getByLabel("E-mail", { exact: true }).fill(bob.email);
    await other.getByLabel("Password").fill(password);
    await other.getByRole("button", { name: "Sign in", exact: true }).click();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await isBobs(watched);
    expect(await other.getByText("Another person is signed in").count()).toBe(0);
    expect(watched.wrongs).toEqual([]);
  });

  test("if the session silently became another person's, it notices on the next focus", {
    timeout: test_timeout_ms,
  }, async () => {
    ann = await console_.join(seeded.admin, fresh("anna"), "admin");
    const watched = await annAtDecisions();
    const [name = "", value = ""] = bob.session.split("=");
    await watched.context.addCookies([{ name, value, url: console_.url, httpOnly: true, sameSite: "Lax" }]);
    await watched.page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await isBobs(watched);
    expect(watched.wrongs).toEqual([]);
  });

  test("a page cannot write for another person: the service refuses, and the page switches to the session's person", {
    timeout: test_timeout_ms,
  }, async () => {
    const agnes = await console_.join(seeded.admin, fresh("agnes"), "admin");
    const arthur = await console_.join(seeded.admin, fresh("arthur"), "admin");
    const watched = await console_.open({ session: agnes.session });
    const { page } = watched;
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("made by agnes");
    const [name = "", value = ""] = arthur.session.split("=");
    await watched.context.addCookies([{ name, value, url: console_.url, httpOnly: true, sameSite: "Lax" }]);
    await page.getByRole("dialog").getByRole("button", { name: "Create", exact: true }).click();
    const messages = page.getByRole("region", { name: "Messages" });
    await messages.getByText("This page now belongs to another caller").waitFor();
    await messages.getByText("Nothing was done").waitFor();
    await page.getByText("Another person is signed in").waitFor();
    const { api_keys } = await api<{ api_keys: { name: string | null }[] }>(
      console_.url,
      seeded.admin,
      "GET",
      "/v1/api-keys",
    );
    expect(api_keys.map((key) => key.name)).not.toContain("made by agnes");
  });

  test("a failed sign-out says so and keeps unsent text; a successful one deletes it", {
    timeout: test_timeout_ms,
  }, async () => {
    const { session } = await console_.join(seeded.admin, fresh("andy"), "admin");
    const { page, wrongs } = await console_.open({ session });
    await page.goto("/policies/new");
    const editor = page.locator("[data-editor]");
    await editor.click();
    await page.keyboard.press("Control+a");
    await paste(editor, "half: written");
    const drafts = () => page.evaluate<string[]>("Object.keys(sessionStorage)");
    await expect.poll(drafts).toHaveLength(1);
    const leave = async () => {
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await page.getByRole("button", { name: "Sign out and lose it" }).click();
    };
    const failures = [
      [{ status: 503, body: '{"error":{"code":"unavailable"}}' }, "The service cannot reach its database"],
      [{ status: 429, headers: { "retry-after": "40" }, body: "" }, "Try again in 40 seconds"],
      [null, "The service does not answer"],
    ] as const;
    for (const [answer, why] of failures) {
      await page.route("**/v1/auth/logout", (route) =>
        answer === null ? route.abort("connectionreset") : route.fulfill(answer),
      );
      await leave();
      const message = page.getByRole("region", { name: "Messages" });
      await message.getByText("You may still be signed in").waitFor();
      await message.getByText(why).waitFor();
      expect(await drafts()).toHaveLength(1);
      expect(await page.getByRole("heading", { name: "Write a policy" }).count()).toBe(1);
      await page.unroute("**/v1/auth/logout");
    }
    await leave();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await drafts()).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
