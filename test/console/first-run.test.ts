import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { password } from "./people.ts";
import { api } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("the first run", () => {
  let api_key = "";

  test("leads from a sign-up in open mode through sign-in into the new organization, and back by the banner", {
    timeout: test_timeout_ms,
  }, async () => {
    const email = "zoe@example.com";
    const { page, wrongs } = await console_.open();
    await page.goto("/signup");
    await page.getByLabel("Organization").fill("Zoe and Daughters");
    await page.getByLabel("E-mail", { exact: true }).fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Check your mail" }).waitFor();
    await page.goto(await console_.mailedPath(email, /^Confirm/));
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    const enter = async () => {
      await page.getByLabel("E-mail", { exact: true }).fill(email);
      await page.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("banner").getByText("Zoe and Daughters").waitFor();
      expect(new URL(page.url()).pathname).toBe("/");
    };
    await enter();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Open mode: everyone on this machine is admin").waitFor();
    await page.getByRole("link", { name: "sign in" }).click();
    await enter();
    expect(wrongs).toEqual([]);
  });

  test("leads from open mode to an organization, a key that is shown once, and a decision on a test intent", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    await page.goto("/");
    await page.getByText("Open mode: everyone on this machine is admin").waitFor();
    const latency = page.getByRole("region", { name: "Latency" });
    await latency.getByText("has not decided anything since it started").waitFor();
    await page.getByRole("link", { name: "Create your organization" }).click();
    await page.getByLabel("Organization").fill("Harbour Goods");
    await page.getByLabel("Your e-mail").fill("ann@example.com");
    await page.getByLabel("What do your agents do?").fill("Send e-mails to customers");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByRole("heading", { name: "Your organization is ready" }).waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    const { scrollWidth, clientWidth } = (await page.evaluate(
      "({ scrollWidth: document.documentElement.scrollWidth, clientWidth: document.documentElement.clientWidth })",
    )) as Record<string, number>;
    expect(scrollWidth).toBe(clientWidth);
    await page.setViewportSize({ width: 1280, height: 900 });
    api_key = (await page.locator(".secret code").textContent()) ?? "";
    expect(api_key).toMatch(/^svc_live_org_/);
    expect(await page.locator("pre.snippet").textContent()).toContain(`"${api_key}"`);
    await page.getByRole("button", { name: "Send a test intent" }).click();
    const answer = page.getByRole("status").filter({ hasText: "risk" });
    await answer.waitFor();
    expect(await answer.textContent()).toMatch(/int_/);
    let cut_off = true;
    await page.route("**/v1/me", (route) => (cut_off ? route.abort("connectionreset") : route.continue()));
    await page.getByRole("button", { name: "Open the console" }).click();
    await page.getByRole("heading", { name: "The service does not answer" }).waitFor();
    cut_off = false;
    await page.getByRole("button", { name: "Open the console" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Shadow: nothing is held").waitFor();
    await latency.getByText("one decision in any mode").waitFor();
    expect(await latency.getByRole("definition").allTextContents()).toEqual(
      Array(3).fill(expect.stringMatching(/^[\d.,]+ ms$/)),
    );
    const { intents } = await api<{ intents: unknown[] }>(console_.url, api_key, "GET", "/v1/intents");
    expect(intents).toHaveLength(1);
    expect(wrongs).toEqual([]);
  });

  test("a typed key opens the console; a wrong one is reported; a forgotten one leaves no trace", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    await page.goto("/decisions?verdict=block");
    await page.getByText("With an API key").click();
    await page.getByLabel("API key").fill("svc_live_org_wrong");
    await page.getByRole("button", { name: "Use this key" }).click();
    await page.getByText("This key is not valid").waitFor();
    await page.getByLabel("API key").fill(api_key);
    await page.getByRole("button", { name: "Use this key" }).click();
    await page.getByRole("heading", { name: "Decisions", exact: true }).waitFor();
    expect(await page.getByLabel("Verdict").inputValue()).toBe("block");
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await page.getByRole("button", { name: "Forget key" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.locator("body").textContent()).not.toContain("Harbour Goods");
    expect(await page.evaluate("sessionStorage.length + document.cookie.length")).toBe(0);
    expect(wrongs).toEqual([]);
  });
});
