/** Source: docs/decisions/0058. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { channelNodes } from "../../src/testing/nodes/channel-nodes.ts";

const database = await testDatabase();
let nodes: Awaited<ReturnType<typeof channelNodes>>;
beforeAll(async () => {
  nodes = await channelNodes(database);
});

const day_seconds = 86_400;

test("a person with one mail a day gets it with equal actions in one line, and until then only the last reminder", async () => {
  const patient = { escalation: { timeout_seconds: 3 * day_seconds, on_timeout: "block", reviewers: [], quorum: 1 } };
  const org = await nodes.organization(patient);
  const [ann, ben] = [
    await nodes.joined(org.admin.cookie, "reviewer"),
    await nodes.joined(org.admin.cookie, "reviewer"),
  ];
  const wishes = { mail_rhythm: "daily", digest_hour: 7 };
  const changed = await org.send("PATCH", "/v1/auth/profile", ann.cookie, wishes);
  expect(changed.json.user).toMatchObject({ ...wishes, notify: true });
  const mailsOf = (to: string) => nodes.mails.filter((mail) => mail.to === to && /review/.test(mail.subject));
  await org.held();
  await org.held();
  await expect.poll(() => mailsOf(ben.email).length, { timeout: 30_000 }).toBeGreaterThan(0);
  expect(mailsOf(ann.email)).toEqual([]);
  await nodes.advance(day_seconds);
  await expect.poll(() => mailsOf(ann.email).length, { timeout: 30_000 }).toBe(1);
  const [daily] = mailsOf(ann.email);
  expect(daily?.subject).toBe("Today: 2 actions wait for your review");
  expect(daily?.text).toContain("agent-1: system.deploy: 2 actions, the first until");
  expect(daily?.text).toMatch(/http:\/\/127.0.0.1:\d+\/review\n/);
  // A tenth of three days is left.
  await database.db.query(
    `update escalations set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval,
       notice_at = notice_at - $2::interval where org_id = $1`,
    [org.org_id, "66 hours"],
  );
  await expect
    .poll(() => mailsOf(ann.email).some(({ text }) => /A tenth of the time is left/.test(text)), {
      timeout: 30_000,
    })
    .toBe(true);
});

test("a person who wants no mails gets none, whatever the rhythm, and the day's mail comes only if something waits", async () => {
  const org = await nodes.organization();
  const [ann, ben] = [
    await nodes.joined(org.admin.cookie, "reviewer"),
    await nodes.joined(org.admin.cookie, "reviewer"),
  ];
  await org.send("PATCH", "/v1/auth/profile", ann.cookie, { mail_rhythm: "daily", notify: false });
  await org.send("PATCH", "/v1/auth/profile", ben.cookie, { mail_rhythm: "daily" });
  const [before_ann, before_ben] = [nodes.count(ann.email), nodes.count(ben.email)];
  await nodes.advance(day_seconds);
  const next = () =>
    database.db.query<{ user_id: string }>(
      "select user_id from people where org_id = $1 and digest_at > statement_timestamp()",
      [org.org_id],
    );
  await expect.poll(next, { timeout: 30_000 }).toEqual([{ user_id: ben.user_id }]);
  expect([nodes.count(ann.email), nodes.count(ben.email)]).toEqual([before_ann, before_ben]);
});
