import { beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { testReceiver } from "../../packages/server/src/testing/network/receiver.ts";
import {
  bot_token,
  channel_id,
  signing_secret,
  slackServer,
  team_id,
} from "../../packages/server/src/testing/network/slack-server.ts";
import { channelNodes } from "../../packages/server/src/testing/nodes/channel-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof channelNodes>>;
beforeAll(async () => {
  nodes = await channelNodes(database);
});

async function organization() {
  const org = await nodes.organization();
  const api_key: string = (await org.send("POST", "/v1/api-keys", org.admin.cookie, { role: "admin" })).json.api_key;
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runCli(["channels", ...args, "--url", nodes.url], { COUNTERSIGN_API_KEY: api_key, ...env });
  return { ...org, run };
}

test("channels add connects Slack, list shows it without secrets, and remove ends it", async () => {
  const { run, org_id } = await organization();
  const slack = await slackServer();
  const none = await run(["list"]);
  expect([none.code, none.stdout]).toEqual([0, expect.stringContaining("reviews are announced in no chat\n")]);
  expect(none.stdout).toContain(`/v1/channels/slack/${org_id}/requests`);
  const secrets = { COUNTERSIGN_SLACK_BOT_TOKEN: bot_token, COUNTERSIGN_SLACK_SIGNING_SECRET: signing_secret };
  const args = ["add", "slack", "--channel", channel_id, "--api-url", slack.api_url];
  const said = `reviews are announced in the Slack channel ${channel_id}; a first message is there\n`;
  expect(await run(args, secrets)).toEqual({ code: 0, stdout: said, stderr: "" });
  const { stdout } = await run(["list"]);
  expect(stdout).toMatch(new RegExp(`^slack +${channel_id} in ${team_id} `, "m"));
  for (const secret of Object.values(secrets)) expect(stdout).not.toContain(secret);
  // The stored secrets stay.
  expect((await run(args)).code).toBe(0);
  expect(await run(["remove", "slack"])).toMatchObject({
    code: 0,
    stdout: "reviews are no longer announced in slack\n",
  });
  expect((await run(["remove", "slack"])).code).toBe(1);
});

test("channels add connects Teams, and the workflow's address is shown nowhere", async () => {
  const { run } = await organization();
  const workflow = await testReceiver((response) => response.writeHead(202).end());
  const env = { COUNTERSIGN_TEAMS_WEBHOOK_URL: `${workflow.url}?sig=secret-of-the-workflow` };
  const added = await run(["add", "teams"], env);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining(new URL(workflow.url).host) });
  const { stdout } = await run(["list"]);
  expect(stdout).toContain(`a workflow at ${new URL(workflow.url).host}`);
  expect(added.stdout + stdout).not.toContain("secret-of-the-workflow");
  expect(workflow.received).toHaveLength(1);
});

test("wrong settings are refused with what to do", async () => {
  const { run } = await organization();
  const broken = await testReceiver((response) => response.writeHead(400).end());
  for (const [args, said] of [
    [["add", "slack"], "give the channel: --channel"],
    [["add", "slack", "--channel", channel_id, "--webhook-url", broken.url], "--webhook-url is not an option of slack"],
    [["add", "slack", "--channel", "general", "--bot-token", bot_token], "/channel_id"],
    [["add", "teams"], "COUNTERSIGN_TEAMS_WEBHOOK_URL"],
    [["add", "teams", "--bot-token", "x"], "--bot-token is not an option of teams"],
    [["add", "teams", "--webhook-url", broken.url], "/webhook_url"],
    [["add", "irc"], "Allowed choices are slack, teams"],
  ] as const) {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining(said) });
  }
});
