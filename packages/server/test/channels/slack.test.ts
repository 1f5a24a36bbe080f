/** Source: docs/decisions/0058. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import {
  bot_token,
  channel_id,
  clickBody,
  commandBody,
  sendAsSlack,
  signedBySlack,
  signing_secret,
  slackServer,
  team_id,
} from "../../src/testing/network/slack-server.ts";
import { channelNodes } from "../../src/testing/nodes/channel-nodes.ts";
import { heldBody } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof channelNodes>>;
beforeAll(async () => {
  nodes = await channelNodes(database);
});

const nowSeconds = () => Math.floor(nodes.clock.now_us() / 1_000_000);
let accounts = 0;

/** An organization with Slack. */
async function organization(membrane: object = {}) {
  const slack = await slackServer();
  const org = await nodes.organization(membrane);
  const { admin, org_id, send } = org;
  const put = (more: object = {}) =>
    send("PUT", "/v1/channels/slack", admin.cookie, {
      channel_id,
      bot_token,
      signing_secret,
      api_url: slack.api_url,
      ...more,
    });
  expect((await put()).status).toBe(200);

  async function reviewer(role = "reviewer") {
    const person = await nodes.joined(admin.cookie, role);
    const account = `U${++accounts}ABC`;
    const code = await send("POST", "/v1/auth/channels/slack", person.cookie);
    expect(code.status).toBe(201);
    const body = commandBody(account, `link ${code.json.link.code}`);
    const linked = await sendAsSlack(nodes.url, org_id, body, signedBySlack(body, nowSeconds()));
    expect(linked.json.text).toContain(`count as those of ${person.email}`);
    return { ...person, account, code: code.json.link.code as string };
  }
  async function click(account: string, outcome: "approve" | "block", id: string, headers?: Record<string, string>) {
    const body = clickBody(account, outcome, id, slack.reply_url);
    return sendAsSlack(nodes.url, org_id, body, headers ?? signedBySlack(body, nowSeconds()));
  }
  /** Why the newest vote did not count. */
  async function replied(count: number): Promise<string> {
    await expect.poll(() => slack.replies.length).toBe(count);
    const reply = slack.replies.at(-1);
    expect(reply).toMatchObject({ response_type: "ephemeral", replace_original: false });
    return reply?.text ?? "";
  }
  return { ...org, slack, put, reviewer, click, replied };
}

test("a review appears as a card with three buttons, a linked reviewer approves it there, and the card shows who did", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const review = await org.held();
  const card = await org.slack.card(/^A review waits: agent-1: ship/);
  expect(card.buttons).toEqual(["review_approve", "review_change", "review_block"]);
  for (const part of ["Ship the shop", "service shop", '\\"replicas\\": 2', `/escalations/${review.id}`])
    expect(card.whole).toContain(part);
  const answer = await org.click(ann.account, "approve", review.id);
  expect([answer.status, answer.json]).toEqual([200, {}]);
  expect(await review.read()).toMatchObject({ status: "decided", resolution: { outcome: "approve", by: ann.user_id } });
  const after = await org.slack.card(new RegExp(`${ann.email} approved the action`));
  expect(after).toMatchObject({ ts: card.ts, buttons: ["review_change"] });
  const { intent_id } = await review.read();
  const { audit } = (await org.send("GET", `/v1/intents/${intent_id}/audit`, org.admin.cookie)).json;
  expect(audit.find(({ type }: { type: string }) => type === "voted")).toMatchObject({
    actor: { type: "user", id: ann.user_id },
    data: { via: "slack", outcome: "approve" },
  });
});

test("the card is updated when somebody was first in the console, and a later click is refused with the reason", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const ben = await nodes.joined(org.admin.cookie, "reviewer");
  const review = await org.held();
  const card = await org.slack.card(/^A review waits/);
  await org.send("POST", `/v1/escalations/${review.id}/decision`, ben.cookie, { outcome: "block" });
  expect(await org.slack.card(new RegExp(`${ben.email} blocked the action`))).toMatchObject({ ts: card.ts });
  expect((await org.click(ann.account, "approve", review.id)).status).toBe(200);
  expect(await org.replied(1)).toContain("already decided");
  expect(await review.read()).toMatchObject({ resolution: { by: ben.user_id } });
});

test("a review that people confirm has no buttons that vote, and a click on an older card is refused", async () => {
  const terms = { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 1, confirm: "totp" };
  const org = await organization({ escalation: terms });
  const ann = await org.reviewer();
  const review = await org.held();
  expect((await org.slack.card(/^A review waits/)).buttons).toEqual(["review_change"]);
  for (const [count, outcome] of [
    [1, "approve"],
    [2, "block"],
  ] as const) {
    await org.click(ann.account, outcome, review.id);
    expect(await org.replied(count)).toMatch(/A chat cannot confirm: decide on the page of the review\./);
  }
  expect(await review.read()).toMatchObject({ status: "pending", votes: [] });
});

test("refuses a wrong signature, an old time, a time in the future, and an organization without Slack", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const review = await org.held();
  const body = clickBody(ann.account, "approve", review.id, org.slack.reply_url);
  const [now, other] = [nowSeconds(), (await nodes.signedUp()).session.org_id];
  const send = (headers: Record<string, string>, org_id = org.org_id) => sendAsSlack(nodes.url, org_id, body, headers);
  const good = signedBySlack(body, now);
  const refused = [
    await send(signedBySlack(body, now, "another secret")),
    await send({ ...good, "X-Slack-Signature": "v0=" }),
    await send({ "Content-Type": good["Content-Type"] as string }),
    await send({ ...good, "X-Slack-Request-Timestamp": String(now - 1) }),
    await send(signedBySlack(body, now - 400)),
    await send(signedBySlack(body, now + 400)),
    await send(good, other),
    await send(good, "org_00000000000000000000000000"),
  ];
  for (const { status, json } of refused) expect([status, json.error.code]).toEqual([401, "invalid_signature"]);
  expect(await review.read()).toMatchObject({ status: "pending", votes: [] });
});

test("a replayed click votes once, and a panel's member who clicks twice counts once", async () => {
  const org = await organization({
    escalation: { timeout_seconds: 600, on_timeout: "block", reviewers: [], quorum: 2 },
  });
  const ann = await org.reviewer();
  const ben = await org.reviewer();
  const review = await org.held();
  const body = clickBody(ann.account, "approve", review.id, org.slack.reply_url);
  const headers = signedBySlack(body, nowSeconds());
  for (const _ of [1, 2]) expect((await org.click(ann.account, "approve", review.id, headers)).status).toBe(200);
  expect(org.slack.replies).toEqual([]);
  const again = clickBody(ann.account, "approve", review.id, `${org.slack.reply_url}?again`);
  await sendAsSlack(nodes.url, org.org_id, again, signedBySlack(again, nowSeconds()));
  expect(await review.read()).toMatchObject({ status: "pending", quorum: { required: 2, approvals: 1 } });
  await org.slack.card(/^A review waits/);
  await expect
    .poll(() => [...org.slack.messages.values()].map((each) => JSON.stringify(each)).join())
    .toContain(`1 of 2 approvals. So far: ${ann.email} approved.`);
  await org.click(ben.account, "approve", review.id);
  expect(await review.read()).toMatchObject({ status: "decided", resolution: { outcome: "approve" } });
});

test("refuses an account that is not linked, one whose link has ended, and a person whose role may not decide", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const auditor = await org.reviewer("auditor");
  const review = await org.held();
  await org.click("U0STRANGER", "approve", review.id);
  expect(await org.replied(1)).toContain("this Slack account is not linked");
  await org.click(auditor.account, "approve", review.id);
  expect(await org.replied(2)).toContain("Roles that may: admin, operator, reviewer");
  expect((await org.send("DELETE", "/v1/auth/channels/slack", ann.cookie)).status).toBe(204);
  expect((await org.send("DELETE", "/v1/auth/channels/slack", ann.cookie)).status).toBe(404);
  await org.click(ann.account, "approve", review.id);
  expect(await org.replied(3)).toContain("this Slack account is not linked");
  expect(await review.read()).toMatchObject({ status: "pending", votes: [] });
});

test("refuses the submitter, and the account of a removed person", async () => {
  const org = await organization();
  const [ann, maker] = [await org.reviewer(), await org.reviewer("admin")];
  const own = (await org.send("POST", "/v1/api-keys", maker.cookie, { role: "agent" })).json.api_key;
  const { json } = await nodes.send("POST", "/v1/intents", { key: own, body: heldBody });
  await org.click(maker.account, "approve", json.decision.escalation_id);
  expect(await org.replied(1)).toContain("Your vote did not count.");
  const removed = await org.send("DELETE", `/v1/people/${ann.user_id}`, org.admin.cookie, {});
  expect(removed.status).toBe(204);
  await org.click(ann.account, "approve", json.decision.escalation_id);
  expect(await org.replied(2)).toContain("this Slack account is not linked");
  const read = await org.send("GET", `/v1/escalations/${json.decision.escalation_id}`, org.admin.cookie);
  expect(read.json.escalation).toMatchObject({ status: "pending", votes: [] });
});

test("a rule with a pace answers with the link to the console, where the reviewer reads the case", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const spec = {
    match: { verbs: ["pay"] },
    when: "true",
    effect: "escalate",
    escalation: { reviewers: ["role:reviewer"], pace: { min_seconds: 20 } },
  };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "slow-pay" }, spec };
  const created = await org.send("POST", "/v1/policies", org.admin.cookie, { policy });
  const at = `/v1/policies/${created.json.policy?.policy_id}/activate`;
  expect((await org.send("POST", at, org.admin.cookie, { mode: "live" })).status).toBe(200);
  const { intent } = heldBody;
  const review = await org.held({ intent: { ...intent, action: { ...intent.action, verb: "pay" } } });
  await org.click(ann.account, "approve", review.id);
  const text = await org.replied(1);
  expect(text).toContain("A rule asks you to read the case in the console");
  expect(text).toContain(`/escalations/${review.id}`);
  expect(await review.read()).toMatchObject({ status: "pending", votes: [] });
});

test("an action that does not fit on the card has no button that approves", async () => {
  const org = await organization();
  const { intent, context } = heldBody;
  const content = { text: "x".repeat(5_000) };
  await org.held({ intent: { ...intent, payload: { ...intent.payload, content } }, context });
  const card = await org.slack.card(/^A review waits/);
  expect(card.buttons).toEqual(["review_change", "review_block"]);
  expect(card.whole).toContain("characters of the content");
});

test("a code links once, only in its organization, and not after ten minutes", async () => {
  const org = await organization();
  const ann = await org.reviewer();
  const cas = await nodes.joined(org.admin.cookie, "reviewer");
  const link = async (code: string, to = org.org_id) => {
    const body = commandBody("U0OTHER", `link ${code}`);
    return (await sendAsSlack(nodes.url, to, body, signedBySlack(body, nowSeconds()))).json.text;
  };
  expect(await link(ann.code)).toContain("This code is wrong");
  const begin = async () => (await org.send("POST", "/v1/auth/channels/slack", cas.cookie)).json.link.code;
  const strangers = await organization();
  expect(await link(await begin(), strangers.org_id)).toContain("This code is wrong");
  const late = await begin();
  await nodes.advance(601);
  expect(await link(late)).toContain("This code is wrong");
  expect(await link("")).toContain("get a code");
  const own = (await org.send("GET", "/v1/auth/channels", cas.cookie)).json.channels;
  expect(own.slack).toEqual({ connected: true, linked_as: null, linked_at: null });
});

test("settings that Slack refuses are refused with the advice, answers show no secret, and a key moves to no other address", async () => {
  const org = await organization();
  const problem = async (more: object) => (await org.put(more)).json.error.details[0];
  expect(await problem({ bot_token: "xoxb-wrong" })).toMatchObject({ path: "/bot_token" });
  expect(await problem({ channel_id: "C0OTHER1" })).toMatchObject({ path: "/channel_id" });
  expect(await problem({ api_url: "https://10.0.0.1/api" })).toMatchObject({ path: "/api_url" });
  const elsewhere = await slackServer();
  expect(await problem({ api_url: elsewhere.api_url, bot_token: undefined })).toMatchObject({ path: "/bot_token" });
  org.slack.refuse("not_in_channel");
  expect((await problem({})).message).toContain("/invite");
  const read = await org.send("GET", "/v1/channels", org.admin.cookie);
  expect(read.json.channels.slack).toMatchObject({ channel_id, team_id, api_url: org.slack.api_url });
  expect(read.text).not.toContain(bot_token);
  expect(read.text).not.toContain(signing_secret);
  const ben = await nodes.joined(org.admin.cookie, "operator");
  expect((await org.send("GET", "/v1/channels", ben.cookie)).status).toBe(403);
  expect((await org.send("DELETE", "/v1/channels/slack", org.admin.cookie)).status).toBe(204);
  expect((await org.send("POST", "/v1/auth/channels/slack", ben.cookie)).code).toBe("state_conflict");
});
