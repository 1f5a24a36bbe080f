import { expect, test } from "vitest";
import { testReceiver } from "../../packages/server/src/testing/network/receiver.ts";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("webhooks", () => {
  test("a test event is sent with a click, health links to the failed deliveries, and a pause ends with a click", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    let status = 500;
    const receiver = await testReceiver((response) => response.writeHead(status).end());
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/webhooks");
    await page.getByRole("button", { name: "Add a webhook" }).click();
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByText("Filters, headers and what happens when it fails").click();
    await page.getByLabel("Own headers").fill("X-Team: payments");
    await page.getByLabel("Pause after").fill("1");
    expect(await violations(page, in_dialog)).toEqual([]);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    const [made] = (await listed(seeded.admin)).webhooks;
    expect(made).toMatchObject({
      headers: { "x-team": "***" },
      pause_after_failures: 1,
      alert_after_failures: 3,
      modes: null,
    });

    await submit(console_.url, seeded.agent, intent("other.thing", {}));
    await page.getByText("is paused since").waitFor({ timeout: 60_000 });
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "0 %" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("status")).toBe("failed");
    status = 200;
    await page.getByRole("button", { name: "Resume and send what was kept" }).click();
    await page.getByText("is paused since").waitFor({ state: "detached" });
    await expect.poll(() => receiver.received.at(-1)?.headers["x-service-retry"], { timeout: 60_000 }).toBe("true");
    expect(receiver.received.at(-1)?.headers["x-team"]).toBe("payments");

    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The receiver accepted the test").waitFor({ timeout: 60_000 });
    await page.getByLabel("Status").selectOption("delivered");
    await page.getByRole("region", { name: "Deliveries", exact: true }).getByText("webhook.test").waitFor();

    await page.getByText("More", { exact: true }).click();
    await page.getByRole("button", { name: "Replay" }).click();
    expect(await violations(page, in_dialog)).toEqual([]);
    await page.getByLabel("Which events").selectOption("all");
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await page.getByText("As new deliveries with three attempts each.").first().waitFor();
    expect(wrongs).toEqual([]);
  });

  const listed = (key: string) =>
    api<{ webhooks: readonly object[] }>(console_.url, key, "GET", "/v1/escalations/webhooks");
});
