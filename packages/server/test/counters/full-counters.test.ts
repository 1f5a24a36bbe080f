import { expect, test, vi } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import type { Mail } from "../../src/ports.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { testPerson } from "../../src/testing/people/person.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const real = createClock();
let ahead_us = 0;
const mails: Mail[] = [];
const { url } = await serviceNode(database, {
  clock: { ...real, now_us: () => real.now_us() + ahead_us },
  mailer: { delivers: true, send: async (mail) => void mails.push(mail) },
});

async function counting(): Promise<Reviewed> {
  const org = await reviewedOrganization(database.db, url, { packs: [] });
  const spec = {
    match: { verbs: ["pay"] },
    counters: [{ name: "paid", key: ["agent.id"], window: "24h" }],
    when: "count.paid.n > 100",
    effect: "block",
  };
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name: "paid" }, spec };
  const created = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
  return org;
}

async function decided({ agent: key }: Reviewed, agent: string): Promise<{ verdict: string; reasons: string[] }> {
  const body = { intent: { agent: { id: agent }, action: { verb: "pay" } } };
  const { decision } = (await call(url, "POST", "/v1/intents", { key, body })).json;
  return { verdict: decision.verdict, reasons: decision.reasons.map(({ policy }: { policy: string }) => policy) };
}

const approved = { verdict: "approve", reasons: [] };
const held = { verdict: "escalate", reasons: ["paid", "counters.full"] };

async function setKeys({ org }: Reviewed, keys: number): Promise<void> {
  await database.db.query("update org_heads set counter_keys = $2 where org_id = $1", [org.org_id, keys]);
}

test("an action that would begin a key too many is held, known keys count on, and new room is found within 10 seconds", async () => {
  const org = await counting();
  await setKeys(org, 999_999);
  expect(await decided(org, "known")).toEqual(approved);
  expect(await decided(org, "new")).toEqual(held);
  expect(await decided(org, "new")).toEqual(held);
  expect(await decided(org, "known")).toEqual(approved);
  await setKeys(org, 999_999);
  ahead_us += 10_000_000;
  expect(await decided(org, "new")).toEqual(approved);
  const { text } = await call(url, "GET", "/metrics", { key: org.admin });
  expect(text).toMatch(/^countersign_counters_full_total 2$/m);
});

test("operators and admins get one mail a day about full counters, reviewers do not", async () => {
  const org = await counting();
  const roles = ["admin", "operator", "reviewer"] as const;
  const people = await Promise.all(
    roles.map((role) => testPerson(database.db, org.org.org_id, { role, notify: false })),
  );
  const told = [people[0]?.email, people[1]?.email].sort();
  const mailed = () =>
    mails.filter(
      ({ to, subject }) => subject.startsWith("Actions are held") && people.some(({ email }) => email === to),
    );
  await setKeys(org, 1_000_000);
  for (const agent of ["first", "second"]) {
    expect(await decided(org, agent)).toEqual(held);
    await vi.waitFor(async () => expect(await database.db.query("select from mails")).toEqual([]));
    expect(
      mailed()
        .map(({ to }) => to)
        .sort(),
    ).toEqual(told);
    // After a minute the node asks the database again.
    ahead_us += 60_000_000;
  }
  expect(mailed()[0]?.text).toContain("agent first is held with the reason counters.full. No room: count paid.");
  await database.db.query("update org_heads set counters_told_at = now() - interval '1 day' where org_id = $1", [
    org.org.org_id,
  ]);
  expect(await decided(org, "third")).toEqual(held);
  await vi.waitFor(() => expect(mailed()).toHaveLength(4));
});
