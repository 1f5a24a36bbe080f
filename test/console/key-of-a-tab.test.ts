import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api, seedOrganization } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the key of a tab", () => {
  test("the first key, made in open mode, is shown, and the tab uses it", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    await page.goto("/keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("the first");
    await page.getByLabel("Role").selectOption("admin");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("It is shown only here.").waitFor();
    const row = page.getByRole("row").filter({ hasText: "the first" });
    await row.getByText("(yours)").waitFor();
    const made = (await page.locator(".secret code").textContent()) ?? "";
    expect(await api(console_.url, made, "GET", "/v1/me")).toMatchObject({ caller: { role: "admin" } });
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(wrongs).toEqual([]);
  });

  test("a replacement is shown, too, and the tab uses it", { timeout: test_timeout_ms }, async () => {
    const seeded = await seedOrganization(console_.url);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/keys");
    const own = page.getByRole("row").filter({ hasText: "(yours)" });
    await own.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("button", { name: "Replace it" }).click();
    await page.getByText("Your new key; the old one is no longer valid").waitFor();
    const made = (await page.locator(".secret code").textContent()) ?? "";
    await expect(api(console_.url, seeded.admin, "GET", "/v1/me")).rejects.toThrow("invalid_api_key");
    const { caller } = await api<{ caller: { id: string } }>(console_.url, made, "GET", "/v1/me");
    await page.getByRole("button", { name: "I have stored it" }).click();
    const row = page.getByRole("row").filter({ hasText: caller.id });
    await row.getByText("(yours)").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("a replacement wins over a refusal of the old key that arrives first", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.route("**/rotate", async (route) => {
      const answer = await route.fetch();
      // The page reads with the old key in between, and asks who it is.
      await page.waitForResponse((each) => each.url().endsWith("/v1/me") && each.status() === 401);
      await route.fulfill({ response: answer });
    });
    await page.goto("/keys");
    const own = page.getByRole("row").filter({ hasText: "(yours)" });
    await own.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("button", { name: "Replace it" }).click();
    await page.getByText("Your new key; the old one is no longer valid").waitFor();
    const made = (await page.locator(".secret code").textContent()) ?? "";
    const { caller } = await api<{ caller: { id: string } }>(console_.url, made, "GET", "/v1/me");
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("row").filter({ hasText: caller.id }).getByText("(yours)").waitFor();
    expect(await page.getByText("This key is not valid").count()).toBe(0);
    expect(wrongs).toEqual([]);
  });

  test("an ended key is reported and forgotten, and a sign-in with a password sets the tab's caller", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    const { email } = await console_.join(seeded.admin, "rita@example.com", "reviewer");
    const { api_key, key_id } = await api<{ api_key: string; key_id: string }>(
      console_.url,
      seeded.admin,
      "POST",
      "/v1/api-keys",
      { role: "operator" },
    );
    const { page } = await console_.open({ api_key });
    await page.goto("/decisions");
    await page.getByRole("heading", { name: "Decisions", exact: true }).waitFor();
    await api(console_.url, seeded.admin, "DELETE", `/v1/api-keys/${key_id}`);
    await page.getByText("This key is not valid").first().waitFor();
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
    await page.getByRole("banner").getByText("reviewer", { exact: true }).waitFor();
  });

  test("a new organization made in the tab is the one that its pages name", { timeout: test_timeout_ms }, async () => {
    const seeded = await seedOrganization(console_.url);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/welcome");
    await page.getByLabel("Organization").fill("Lighthouse Bakery");
    await page.getByLabel("Your e-mail").fill("bakery@example.com");
    await page.getByLabel("What do your agents do?").fill("Answer customers");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByRole("button", { name: "Open the console" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("banner").getByText("Lighthouse Bakery").waitFor();
    expect(wrongs).toEqual([]);
  });
});
