/** Source: docs/decisions/0058, RFC 8030, RFC 8291, RFC 8292. */
import { limits } from "@countersign/contract";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { pushServer } from "../../src/testing/network/push-server.ts";
import { channelNodes } from "../../src/testing/nodes/channel-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof channelNodes>>;
beforeAll(async () => {
  nodes = await channelNodes(database);
});

const path = "/v1/auth/channels/push";

test("a browser of a reviewer gets an encrypted notice of a new review, signed for its push service", async () => {
  const [org, browser] = [await nodes.organization(), await pushServer()];
  const ann = await nodes.joined(org.admin.cookie, "reviewer");
  await org.send("PATCH", "/v1/auth/profile", ann.cookie, { notify: false });
  const added = await org.send("POST", path, ann.cookie, browser.subscription);
  expect(added.status).toBe(201);
  expect(added.text).not.toContain(browser.subscription.keys.auth);
  const { push_public_key, push_devices } = added.json.channels;
  expect(push_devices).toMatchObject([{ name: "Firefox on Linux" }]);
  const before = nodes.count(ann.email);
  const review = await org.held();
  await expect.poll(() => browser.notices.length, { timeout: 30_000 }).toBe(1);
  expect(browser.notices[0]).toMatchObject({ title: "An action waits for your review" });
  expect(browser.notices[0]?.body).toContain("agent-1: system.deploy");
  // Any node may send.
  expect(browser.notices[0]?.url).toMatch(new RegExp(`^http://127.0.0.1:\\d+/escalations/${review.id}$`));
  expect(browser.tokens[0]).toMatchObject({ k: push_public_key, sub: expect.stringContaining("http://127.0.0.1:") });
  expect(browser.received[0]?.headers).toMatchObject({
    ttl: "86400",
    urgency: "normal",
    "content-encoding": "aes128gcm",
  });
  expect(nodes.count(ann.email)).toBe(before);
});

test("a browser that the push service no longer knows is forgotten", async () => {
  const [org, browser] = [await nodes.organization(), await pushServer()];
  const ann = await nodes.joined(org.admin.cookie, "reviewer");
  await org.send("POST", path, ann.cookie, browser.subscription);
  browser.answerWith(410);
  await org.held();
  const devices = async () => (await org.send("GET", "/v1/auth/channels", ann.cookie)).json.channels.push_devices;
  await expect.poll(devices, { timeout: 30_000 }).toEqual([]);
});

test("refuses private addresses, keys as callers, another person's browser and too many browsers", async () => {
  const [org, { subscription }] = [await nodes.organization(), await pushServer()];
  const [ann, ben] = [
    await nodes.joined(org.admin.cookie, "reviewer"),
    await nodes.joined(org.admin.cookie, "reviewer"),
  ];
  const own = await org.send("POST", path, ann.cookie, { ...subscription, endpoint: "https://10.0.0.1/push" });
  expect(own.json.error).toMatchObject({ code: "invalid_request", details: [{ path: "/endpoint" }] });
  expect((await nodes.send("POST", path, { key: org.agent, body: subscription })).code).toBe("forbidden");
  const { push_devices } = (await org.send("POST", path, ann.cookie, subscription)).json.channels;
  const at = `${path}/${push_devices[0].device_id}`;
  expect((await org.send("DELETE", at, ben.cookie)).code).toBe("not_found");
  // The browser is now of the person who signed in last.
  await org.send("POST", path, ben.cookie, subscription);
  expect((await org.send("GET", "/v1/auth/channels", ann.cookie)).json.channels.push_devices).toEqual([]);
  for (let n = 1; n < limits.push_devices_per_person_max; n += 1) {
    const more = { ...subscription, endpoint: `${subscription.endpoint}${n}` };
    expect((await org.send("POST", path, ben.cookie, more)).status).toBe(201);
  }
  const last = await org.send("POST", path, ben.cookie, { ...subscription, endpoint: `${subscription.endpoint}x` });
  expect(last.code).toBe("already_exists");
});
