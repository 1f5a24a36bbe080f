/** The loop over deliveries: waits, independence of receivers, several nodes, crashes. Source: contract §6 rule 3, api.md §8. */
import { limits } from "@countersign/contract";
import { delivery_waits_ms, formatTimestampUs } from "@countersign/core";
import { describe, expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { settleDeliveries } from "../../operations/webhooks/deliver-due.ts";
import { claimDue, type Room } from "../../store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../../store/webhooks/dispatch-events.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { type Received, testReceiver } from "../../testing/network/receiver.ts";
import { quick_terms, webhookNode, webhookOrganization } from "../../testing/nodes/webhook-node.ts";
import { delivery_terms } from "./deliveries.ts";

const database = await testDatabase();
const { db } = database;
const clock = createClock();
const ids = createIds(clock);
const id = (received: Received) => received.headers["x-service-delivery"] as string;
const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const room: Room = {
  free: 100,
  reserve: 0,
  few: 0,
  per_webhook: 32,
  per_organization: 64,
  lease_ms: 10_000,
  receivers: {},
  organizations: {},
};
const claim = async (lease_ms: number) => (await claimDue(db, { ...room, lease_ms })).deliveries;

/** Claims as soon as the lease before has run out. */
async function claimOnceDue(lease_ms: number) {
  for (;;) {
    const claimed = await claim(lease_ms);
    if (claimed.length > 0) return claimed;
  }
}

/** Writes events without deciding: as many as asked, about no intent. */
async function addEvents(org_id: string, count: number): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || $1 || gen_random_uuid(), 'quota.exceeded', json_build_object('data', '{}'::json, 'organization_id', $1::text,
       'event_type', 'quota.exceeded'), now() from generate_series(1, $2::integer)`,
    [org_id, count],
  );
}

describe("with the waits of the contract", () => {
  test("attempts follow each other 5 s and 25 s after the end of the one before", { timeout: 180_000 }, async () => {
    const holding_ms = 300;
    const receiver = await testReceiver((response) => setTimeout(() => response.writeHead(500).end(), holding_ms));
    const node = await webhookNode(database, { deliveryTerms: delivery_terms });
    const org = await webhookOrganization(database, node.url);
    await org.register(receiver.url);
    await org.submit();
    await expect.poll(() => receiver.received.length, { timeout: 120_000, interval: 20 }).toBe(3);
    const [first, second, third] = receiver.received.map((each) => each.at_ms) as [number, number, number];
    const [wait_1, wait_2] = delivery_waits_ms as [number, number];
    for (const [gap, wait] of [
      [second - first, wait_1],
      [third - second, wait_2],
    ] as const) {
      expect(gap).toBeGreaterThanOrEqual(wait + holding_ms - 20);
      // No promise of speed: only that the first wait is not the second, and that nobody waits for a lease.
      expect(gap).toBeLessThan(wait + delivery_terms.lease_ms);
    }
    await node.close();
  });
});

describe("independence", () => {
  test("a receiver that hangs with 500 events delays nobody else's deliveries", { timeout: 180_000 }, async () => {
    // It hangs for longer than the test runs: whoever waited for it would be late by that.
    const node = await webhookNode(database, { timeout_ms: 120_000 });
    const hanging = await testReceiver(() => undefined);
    const slow = await webhookOrganization(database, node.url);
    await slow.register(hanging.url);
    await addEvents(slow.org_id, 500);
    await expect.poll(() => hanging.received.length).toBeGreaterThan(0);

    const fast = await webhookOrganization(database, node.url);
    const sent = new Map<string, number>();
    // A delivery may come before the answer to its intent does.
    const arrived = new Map<string, number>();
    const receiver = await testReceiver((response, { body, at_ms }) => {
      arrived.set(JSON.parse(body).intent_id, at_ms);
      response.end();
    });
    // In the organization of the hanging one too.
    await slow.register(`${receiver.url}/neighbour`, { event_types: ["decision.approved"] });
    await fast.register(receiver.url);
    for (let n = 0; n < 40; n++) {
      const org = n % 2 === 0 ? fast : slow;
      const started = performance.now();
      sent.set(await org.submit(), started);
    }
    await expect.poll(() => arrived.size).toBe(40);
    const delays = [...sent].map(([intent_id, at_ms]) => (arrived.get(intent_id) as number) - at_ms);
    expect(sorted(delays)[38]).toBeLessThan(10_000);
    // And the one that hangs was never asked more than its share at once.
    expect(hanging.received.length).toBeLessThanOrEqual(delivery_terms.per_webhook.first);
    await hanging.close();
    // First: the two would lock deliveries in different orders, and one of them would be given up.
    await node.close();
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });

  test("a backlog of one organization does not hold up another's single event", { timeout: 180_000 }, async () => {
    const deliveryTerms = { ...quick_terms, per_organization: 32 };
    const node = await webhookNode(database, { timeout_ms: 120_000, deliveryTerms });
    const busy = await webhookOrganization(database, node.url);
    const waiting: (() => void)[] = [];
    const receiver = await testReceiver((response, { path }) => {
      if (path.startsWith("/hook/busy")) waiting.push(() => response.end());
      else response.end();
    });
    for (let n = 0; n < 10; n++) await busy.register(`${receiver.url}/busy${n}`);
    await addEvents(busy.org_id, 60);
    await expect.poll(() => waiting.length, { timeout: 60_000 }).toBe(deliveryTerms.per_organization);
    const other = await webhookOrganization(database, node.url);
    await other.register(`${receiver.url}/other`);
    await other.submit();
    await expect
      .poll(() => receiver.received.some(({ path }) => path === "/hook/other"), { timeout: 60_000, interval: 10 })
      .toBe(true);
    expect(waiting).toHaveLength(deliveryTerms.per_organization);
    for (const answer of waiting) answer();
    // First: the two would lock deliveries in different orders, and one of them would be given up.
    await node.close();
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });
});

describe("several nodes", () => {
  test("four nodes deliver 1,000 events once each, and every one is in the audit trail once", {
    timeout: 180_000,
  }, async () => {
    const nodes = await Promise.all([1, 2, 3, 4].map(() => webhookNode(database, { timeout_ms: 30_000 })));
    const org = await webhookOrganization(database, nodes[0]?.url as string);
    const receiver = await testReceiver();
    await org.register(receiver.url);
    await addEvents(org.org_id, 1_000);
    await expect.poll(() => receiver.received.length, { timeout: 60_000 }).toBe(1_000);
    const settled = async () => (await org.deliveries()).filter(({ status }) => status === "delivered").length;
    await expect.poll(settled, { timeout: 60_000 }).toBe(1_000);
    expect(new Set(receiver.received.map(id)).size).toBe(1_000);
    const [row] = await db.query<{ n: number }>(
      "select count(*)::int as n from audit where org_id = $1 and type = 'delivered'",
      [org.org_id],
    );
    expect(row?.n).toBe(1_000);
    await Promise.all(nodes.map((node) => node.close()));
  });
});

describe("crashes", () => {
  test("a lease outlives the longest attempt and its settlement", () => {
    // The node waits this long for a session with the database before it gives a settlement up and tries it again.
    const session_wait_ms = 5_000;
    expect(delivery_terms.lease_ms).toBeGreaterThan(limits.delivery_attempt_timeout_ms + session_wait_ms);
  });

  /** An organization whose one delivery is pending, and no node that runs. */
  async function pendingDelivery(answer: 200 | 500) {
    const node = await webhookNode(database);
    const org = await webhookOrganization(database, node.url);
    const receiver = await testReceiver((response) => response.writeHead(answer).end());
    await org.register(receiver.url);
    const { failed, deliveries } = org;
    await node.close();
    await addEvents(org.org_id, 1);
    return { org, receiver, failed, deliveries };
  }
  async function dispatched() {
    const created_at = formatTimestampUs(clock.now_us());
    await dispatchEvents(db, { ...room, free: 0 }, { next_id: () => ids.next("delivery"), created_at });
  }

  test("an attempt whose node died is made again under the same id once its lease has run out", async () => {
    const { org, receiver } = await pendingDelivery(200);
    await dispatched();
    const [lost] = await claim(400);
    expect(lost).toMatchObject({ org_id: org.org_id, number: 1 });
    expect(await claim(400)).toEqual([]);
    const node = await webhookNode(database);
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(receiver.received.map(id)).toEqual([lost?.delivery_id]);
    const outcomes = () =>
      db.query<{ status: string; outcomes: { error: string | null }[] }>(
        "select status, outcomes from deliveries where delivery_id = $1",
        [lost?.delivery_id],
      );
    await expect.poll(async () => (await outcomes())[0]?.status).toBe("delivered");
    expect((await outcomes())[0]?.outcomes.map(({ error }) => error)).toEqual([
      expect.stringContaining("The service stopped"),
      null,
    ]);
    await node.close();
  });

  test.each([
    ["deleted", "delete from webhooks where org_id = $1"],
    ["inactive", "update webhooks set active = false where org_id = $1"],
  ])(
    "what was still dispatched for a webhook that is %s by now is not sent, and ends cancelled",
    async (_title, sql) => {
      const { org, receiver, deliveries } = await pendingDelivery(200);
      await dispatched();
      await db.query(sql, [org.org_id]);
      const node = await webhookNode(database);
      await expect.poll(async () => (await deliveries())[0]?.status).toBe("cancelled");
      expect(receiver.received).toEqual([]);
      await node.close();
    },
  );

  test("three attempts that all died end as failed without a fourth, with a reason for each", async () => {
    const { org, receiver } = await pendingDelivery(200);
    await dispatched();
    for (const number of [1, 2, 3]) {
      const claimed = await claimOnceDue(10);
      expect(claimed[0]?.number).toBe(number);
    }
    const node = await webhookNode(database);
    await expect.poll(async () => (await org.deliveries())[0]?.status).toBe("failed");
    expect(receiver.received).toEqual([]);
    const [row] = await db.query<{ outcomes: { number: number }[] }>(
      "select outcomes from deliveries where org_id = $1",
      [org.org_id],
    );
    expect(row?.outcomes.map(({ number }) => number)).toEqual([1, 2, 3]);
    await node.close();
  });

  test("a node that settles an attempt late, after another has begun the next, changes nothing", async () => {
    const { org } = await pendingDelivery(500);
    await dispatched();
    const [first] = await claim(1);
    const second = await claimOnceDue(10_000);
    const settlement = {
      delivery_id: first?.delivery_id as string,
      attempts: 1,
      status: "failed",
      outcomes: [],
      wait_ms: 0,
    } as const;
    await settleDeliveries({ db, clock, ids }, org.org_id, [{ claimed: first as never, settlement, duration_ms: 1 }]);
    expect(await org.deliveries()).toMatchObject([{ status: "pending", attempts: 2 }]);
    expect(second[0]?.number).toBe(2);
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });

  test("a stop lets attempts under way finish and settles them", async () => {
    let answer: (() => void) | undefined;
    const receiver = await testReceiver((response) => {
      answer = () => response.end();
    });
    const node = await webhookNode(database, { deliveryTerms: quick_terms });
    const org = await webhookOrganization(database, node.url);
    await org.register(receiver.url);
    await org.submit();
    await expect.poll(() => answer).toBeDefined();
    const closed = node.close();
    answer?.();
    await closed;
    expect((await org.deliveries()).map(({ status }) => status)).toEqual(["delivered"]);
  });

  test("a stop does not wait for a receiver that never answers: the attempt is settled as interrupted, and the next is due", async () => {
    const receiver = await testReceiver(() => undefined);
    const node = await webhookNode(database, { deliveryTerms: { ...quick_terms, waits_ms: [60_000, 60_000] } });
    const org = await webhookOrganization(database, node.url);
    await org.register(receiver.url);
    await org.submit();
    await expect.poll(() => receiver.received.length).toBe(1);
    await node.close();
    expect(await org.deliveries()).toMatchObject([{ status: "pending", attempts: 1 }]);
    const error = "The service stopped during this attempt; whether it arrived is not known.";
    const [settled] = await db.query("select outcomes from deliveries where org_id = $1", [org.org_id]);
    expect(settled).toMatchObject({ outcomes: [{ number: 1, error }] });
  });
});
