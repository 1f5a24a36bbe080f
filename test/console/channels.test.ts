/** Where reviewers are: channels of the organization, and notices of a person. */
import { beforeAll, expect, test } from "vitest";
import { pushServer } from "../../packages/server/src/testing/network/push-server.ts";
import {
  bot_token,
  channel_id,
  commandBody,
  sendAsSlack,
  signedBySlack,
  signing_secret,
  slackServer,
} from "../../packages/server/src/testing/network/slack-server.ts";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("channels", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an admin connects Slack, a reviewer links an account with a code, and the admin disconnects Slack", {
    timeout: test_timeout_ms,
  }, async () => {
    const slack = await slackServer();
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/channels");
    const card = page.getByRole("region", { name: "Slack" });
    expect(await violations(page)).toEqual([]);
    await card.getByRole("button", { name: "Connect Slack" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Channel id").fill(channel_id);
    await dialog.getByLabel("Bot token").fill("xoxb-wrong");
    await dialog.getByLabel("Signing secret").fill(signing_secret);
    await dialog.getByLabel("Address of Slack’s API").fill(slack.api_url);
    await dialog.getByRole("button", { name: "Connect" }).click();
    await dialog.getByText("Slack does not accept the bot token.").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel("Bot token").fill(bot_token);
    await dialog.getByRole("button", { name: "Connect" }).click();
    await card.getByText(channel_id).waitFor();
    expect(await violations(page)).toEqual([]);

    const ann = await console_.join(seeded.admin, "ann-slack@example.com", "reviewer");
    const own = await console_.open({ session: ann.session });
    await own.page.goto("/settings");
    const notices = own.page.getByRole("region", { name: "Notices" });
    await notices.getByRole("button", { name: "Link your Slack account" }).click();
    const command = (await notices.getByText("/countersign link").textContent()) ?? "";
    const body = commandBody("U0ANN", command.replace("/countersign ", ""));
    const { caller } = await api<{ caller: { org_id: string } }>(console_.url, seeded.admin, "GET", "/v1/me");
    const at_seconds = Math.floor(Date.now() / 1_000);
    expect((await sendAsSlack(console_.url, caller.org_id, body, signedBySlack(body, at_seconds))).status).toBe(200);
    await own.page.reload();
    await notices.getByText("U0ANN").waitFor();
    await notices.getByLabel("Mails", { exact: true }).selectOption("daily");
    await notices.getByLabel("Time of the daily mail").waitFor();
    expect(await violations(own.page)).toEqual([]);
    await notices.getByRole("button", { name: "Unlink" }).click();
    await notices.getByRole("button", { name: "Link your Slack account" }).waitFor();

    await card.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await card.getByRole("button", { name: "Connect Slack" }).waitFor();
    expect([...wrongs, ...own.wrongs]).toEqual([]);
  });

  test("a reviewer gets push notices in a browser, whose worker the page's policy allows", {
    timeout: test_timeout_ms,
  }, async () => {
    const browser = await pushServer();
    const ben = await console_.join(seeded.admin, "ben-push@example.com", "reviewer");
    const { page, wrongs } = await console_.open({ session: ben.session, own: true }, console_.named_url);
    // The headless browser has no push service, and asks nobody for permission.
    const { endpoint, keys } = browser.subscription;
    const shown = JSON.stringify({ endpoint, keys });
    await page.addInitScript(`
      Object.defineProperty(Notification, "permission", { get: () => "default" });
      Notification.requestPermission = async () => "granted";
      PushManager.prototype.subscribe = async () => ({ toJSON: () => (${shown}) });
      PushManager.prototype.getSubscription = async () => null;
    `);
    await page.goto("/settings");
    const notices = page.getByRole("region", { name: "Notices" });
    await notices.getByRole("button", { name: "Get notices in this browser" }).click();
    await notices.getByText(/^Chrome on /).waitFor();
    await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    await expect.poll(() => browser.notices.length, { timeout: 60_000 }).toBeGreaterThan(0);
    await notices.getByRole("button", { name: "Remove" }).click();
    await notices.getByText(/^Chrome on /).waitFor({ state: "detached" });
    expect(wrongs).toEqual([]);
  });
});
