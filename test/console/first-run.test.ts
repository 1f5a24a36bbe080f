import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { counted } from "./counted.ts";
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

  // Before there were these buttons: 17 clicks, and a policy of twelve lines to type.
  test("leads from open mode to an organization, a key that is shown once, rules, and a first review, by six clicks", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open();
    const person = counted(page);
    await page.goto("/");
    await page.getByText("Open mode: everyone on this machine is admin").waitFor();
    const latency = page.getByRole("region", { name: "Latency" });
    await latency.getByText("has not decided anything since it started").waitFor();
    await person.click(page.getByRole("link", { name: "Create your organization" }));
    await page.getByLabel("Organization").fill("Harbour Goods");
    await page.getByLabel("Your e-mail").fill("ann@example.com");
    await page.getByLabel("What do your agents do?").fill("Refund customers, and send them marketing e-mails");
    await person.click(page.getByRole("button", { name: "Create organization" }));
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
    await person.click(page.getByRole("button", { name: "Switch on" }));
    await page.getByText("On: pci.").waitFor();
    let cut_off = true;
    await page.route("**/v1/me", (route) => (cut_off ? route.abort("connectionreset") : route.continue()));
    await page.getByRole("button", { name: "Let the agent ask" }).click();
    await page.getByRole("heading", { name: "The service does not answer" }).waitFor();
    cut_off = false;
    await person.click(page.getByRole("button", { name: "Let the agent ask" }));
    await page.getByText("A person decides about refunds of more than 500 USD.").first().waitFor();
    await person.click(page.getByRole("button", { name: /^Approve/ }).first());
    await person.click(page.getByRole("dialog").getByRole("button", { name: /^Approve/ }));
    await page.getByText("Outcome: approved").waitFor();
    expect(person.count()).toBe(6);

    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByText("Shadow: nothing is held").waitFor();
    await latency.getByText("2 decisions in any mode").waitFor();
    expect(await latency.getByRole("definition").allTextContents()).toEqual(
      Array(3).fill(expect.stringMatching(/^[\d.,]+ ms$/)),
    );
    const { policies } = await api<{ policies: unknown[] }>(console_.url, api_key, "GET", "/v1/policies");
    expect(policies).toMatchObject([{ name: "ask-before-large-refunds", status: "live" }]);
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
