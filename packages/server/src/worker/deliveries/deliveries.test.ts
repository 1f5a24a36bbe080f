import { limits } from "@countersign/contract";
import { delivery_waits_ms, formatTimestampUs, networkList } from "@countersign/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import { timers } from "../../edge/timers.ts";
import { settleAttempts } from "../../operations/webhooks/settle-attempts.ts";
import { type LeasedDelivery, leaseDue } from "../../store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../../store/webhooks/dispatch-events.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { roomy } from "../../testing/deliveries.ts";
import { testCertificates } from "../../testing/network/certificates.ts";
import { type Received, resolveToLoopback, testReceiver } from "../../testing/network/receiver.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { quick_terms, webhookNode, webhookOrganization } from "../../testing/nodes/webhook-node.ts";
import { startDeliveries } from "./deliveries.ts";
import { type DeliveryTerms, standardTerms } from "./delivery-terms.ts";

const database = await testDatabase();
const { db } = database;
const clock = createClock();
const ids = createIds(clock);
const sealer = createSealer(Buffer.alloc(32, 7));
const { url: api_url } = await webhookNode(database, {
  sealer,
  deliveries: () => ({ wake: () => undefined, stop: async () => undefined }),
});
const organization = () => webhookOrganization(database, api_url);
const id = (received: Received) => received.headers["x-service-delivery"] as string;

function machines(
  terms: DeliveryTerms = quick_terms,
  timeout_ms: number = limits.delivery_attempt_timeout_ms,
  after = timers.after,
) {
  const rules = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };
  const httpOut = createHttpOut({ rules, resolve: resolveToLoopback, ca: testCertificates().ca, timeout_ms });
  const metrics = { attempted: () => undefined };
  const deliveries = startDeliveries(
    { timers: { after }, db, ids, clock, log: silentLog, sealer, httpOut, metrics },
    terms,
  );
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= deliveries.stop().then(() => httpOut.close()));
  onTestFinished(stop);
  return { wake: deliveries.wake, stop };
}

const lease = async (org_id: string, lease_ms: number) =>
  (await leaseDue(db, org_id, { ...roomy, lease_ms })).deliveries;

/** Leases as soon as the previous lease has expired. */
async function leaseOnceDue(org_id: string, lease_ms: number): Promise<readonly LeasedDelivery[]> {
  for (;;) {
    const leased = await lease(org_id, lease_ms);
    if (leased.length > 0) return leased;
  }
}

async function addEvents(org_id: string, count: number): Promise<void> {
  await db.query(
    `insert into events (org_id, event_id, event_type, body, created_at)
     select $1, 'evt_' || $1 || gen_random_uuid(), 'quota.exceeded', json_build_object('data', '{}'::json, 'organization_id', $1::text,
       'event_type', 'quota.exceeded'), now() from generate_series(1, $2::integer)`,
    [org_id, count],
  );
}

const database_us = async () => {
  const [row] = await db.query<{ us: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000000)::float8 as us",
  );
  return row?.us as number;
};

describe("with the waits of the contract", () => {
  test("attempts follow 5 s and 25 s after the end of the previous one", async () => {
    const ended_us: number[] = [];
    const receiver = await testReceiver(async (response) => {
      ended_us.push(await database_us());
      response.writeHead(500).end();
    });
    const org = await organization();
    await org.register(receiver.url);
    await org.submit();
    machines(standardTerms);
    /** Returns when the next attempt is due, after this many settlements. */
    const due = async (settled: number) => {
      const row = async () =>
        (
          await db.query<{ status: string; ended: number; due_us: number }>(
            `select status, json_array_length(outcomes) as ended, (extract(epoch from due_at) * 1000000)::float8 as due_us
             from deliveries where org_id = $1`,
            [org.org_id],
          )
        )[0];
      await expect.poll(async () => (await row())?.ended).toBe(settled);
      return row();
    };
    for (const [n, wait_ms] of delivery_waits_ms.entries()) {
      const { status, due_us } = (await due(n + 1)) ?? {};
      expect(status).toBe("pending");
      expect(due_us).toBeGreaterThanOrEqual((ended_us[n] as number) + wait_ms * 1_000);
      expect(due_us).toBeLessThanOrEqual((await database_us()) + wait_ms * 1_000);
      expect(receiver.received).toHaveLength(n + 1);
      await db.query("update deliveries set due_at = clock_timestamp() where org_id = $1", [org.org_id]);
    }
    expect((await due(3))?.status).toBe("failed");
    expect(receiver.received).toHaveLength(3);
  });
});

describe("independence", () => {
  test("a receiver that hangs with 500 events delays no other deliveries", async () => {
    // A delivery behind it never arrives.
    const hanging = await testReceiver(() => undefined);
    const [slow, fast] = [await organization(), await organization()];
    await slow.register(hanging.url);
    await addEvents(slow.org_id, 500);
    const { wake, stop } = machines(quick_terms, 600_000);
    await expect.poll(() => hanging.received.length).toBeGreaterThan(0);

    const sent: string[] = [];
    // A delivery may arrive before the answer to its intent.
    const arrived = new Set<string>();
    const receiver = await testReceiver((response, { body }) => {
      arrived.add(JSON.parse(body).intent_id);
      response.end();
    });
    // Also in the organization with the hanging receiver.
    await slow.register(`${receiver.url}/neighbour`, { event_types: ["decision.approved"] });
    await fast.register(receiver.url);
    for (let n = 0; n < 40; n++) {
      const org = n % 2 === 0 ? fast : slow;
      sent.push(await org.submit());
      wake(org.org_id);
    }
    await expect.poll(() => arrived).toEqual(new Set(sent));
    expect(hanging.received.length).toBeLessThanOrEqual(standardTerms.per_webhook.first);
    await hanging.close();
    await stop();
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });

  test("a backlog of one organization does not delay another's single event", async () => {
    const terms = { ...quick_terms, per_organization: 32 };
    const [busy, other] = [await organization(), await organization()];
    const waiting: (() => void)[] = [];
    const receiver = await testReceiver((response, { path }) => {
      if (path.startsWith("/hook/busy")) waiting.push(() => response.end());
      else response.end();
    });
    for (let n = 0; n < 10; n++) await busy.register(`${receiver.url}/busy${n}`);
    await addEvents(busy.org_id, 60);
    const { wake, stop } = machines(terms, 600_000);
    await expect.poll(() => waiting.length).toBe(terms.per_organization);
    await other.register(`${receiver.url}/other`);
    await other.submit();
    wake(other.org_id);
    await expect.poll(() => receiver.received.some(({ path }) => path === "/hook/other")).toBe(true);
    expect(waiting).toHaveLength(terms.per_organization);
    for (const answer of waiting) answer();
    await stop();
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });
});

describe("several nodes", () => {
  test("four nodes deliver 1,000 events once each, and the audit trail has each once", async () => {
    const org = await organization();
    const receiver = await testReceiver();
    await org.register(receiver.url);
    await addEvents(org.org_id, 1_000);
    // No lease expires, even on a slow machine. Few connections, because each costs a TLS handshake.
    const per_webhook = { first: 8, least: 2, most: 16 };
    const terms = { ...quick_terms, per_webhook, lease_ms: 600_000 };
    for (let node = 0; node < 4; node += 1) machines(terms, 600_000);
    await expect.poll(() => receiver.received.length).toBe(1_000);
    const settled = async () => (await org.deliveries()).filter(({ status }) => status === "delivered").length;
    await expect.poll(settled).toBe(1_000);
    expect(new Set(receiver.received.map(id)).size).toBe(1_000);
    const [row] = await db.query<{ n: number }>(
      "select count(*)::int as n from audit where org_id = $1 and type = 'delivered'",
      [org.org_id],
    );
    expect(row?.n).toBe(1_000);
  });
});

describe("crashes", () => {
  test("a lease outlives the longest attempt and its settlement", () => {
    // The node waits this long for a database session before it retries a settlement.
    const session_wait_ms = 5_000;
    expect(standardTerms.lease_ms).toBeGreaterThan(limits.delivery_attempt_timeout_ms + session_wait_ms);
  });

  async function dueDelivery() {
    const org = await organization();
    const receiver = await testReceiver();
    await org.register(receiver.url);
    await addEvents(org.org_id, 1);
    const created_at = formatTimestampUs(clock.now_us());
    await dispatchEvents(db, org.org_id, { next_id: () => ids.next("delivery"), created_at });
    return { org, receiver };
  }

  test("an attempt whose node died is repeated under the same id after its lease has expired", async () => {
    const { org, receiver } = await dueDelivery();
    const [lost] = await lease(org.org_id, 600_000);
    expect(lost).toMatchObject({ org_id: org.org_id, number: 1 });
    expect(await lease(org.org_id, 600_000)).toEqual([]);
    await db.query("update deliveries set due_at = clock_timestamp() where org_id = $1", [org.org_id]);
    machines();
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
  });

  test.each([
    ["deleted", "delete from webhooks where org_id = $1"],
    ["inactive", "update webhooks set active = false where org_id = $1"],
  ])(
    "an event that is dispatched for a webhook that is %s meanwhile is not sent, and ends cancelled",
    async (_title, sql) => {
      const { org, receiver } = await dueDelivery();
      await db.query(sql, [org.org_id]);
      machines();
      await expect.poll(async () => (await org.deliveries())[0]?.status).toBe("cancelled");
      expect(receiver.received).toEqual([]);
    },
  );

  test("three attempts whose nodes died end as failed without a fourth, with a reason for each", async () => {
    const { org, receiver } = await dueDelivery();
    for (const number of [1, 2, 3]) {
      const leased = await leaseOnceDue(org.org_id, 10);
      expect(leased[0]?.number).toBe(number);
    }
    machines();
    await expect.poll(async () => (await org.deliveries())[0]?.status).toBe("failed");
    expect(receiver.received).toEqual([]);
    const [row] = await db.query<{ outcomes: { number: number }[] }>(
      "select outcomes from deliveries where org_id = $1",
      [org.org_id],
    );
    expect(row?.outcomes.map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  test("a node that settles an attempt late, after another has begun the next, changes nothing", async () => {
    const { org } = await dueDelivery();
    const [first] = (await lease(org.org_id, 1)) as [LeasedDelivery];
    const second = await leaseOnceDue(org.org_id, 10_000);
    const result = { response_status: 500, error: "The receiver answered 500.", duration_ms: 1 };
    await settleAttempts({ db, clock, ids }, org.org_id, [{ leased: first, at_us: clock.now_us(), result }]);
    expect(await org.deliveries()).toMatchObject([{ status: "pending", attempts: 2 }]);
    expect(second[0]?.number).toBe(2);
    await db.query("update deliveries set status = 'cancelled' where status = 'pending'");
  });

  test("a stop lets running attempts finish and settles them", async () => {
    let answer: (() => void) | undefined;
    const receiver = await testReceiver((response) => {
      answer = () => response.end();
    });
    const org = await organization();
    await org.register(receiver.url);
    await org.submit();
    const { stop } = machines();
    await expect.poll(() => answer).toBeDefined();
    const stopped = stop();
    answer?.();
    await stopped;
    expect((await org.deliveries()).map(({ status }) => status)).toEqual(["delivered"]);
  });

  test("a stop does not wait for a receiver that never answers: the attempt is settled as interrupted, and the next is due", async () => {
    const receiver = await testReceiver(() => undefined);
    const org = await organization();
    await org.register(receiver.url);
    await org.submit();
    let patience_ms = 0;
    // A stop has the longest wait of all. Here it ends at once.
    const after: typeof timers.after = (ms, run) => {
      patience_ms = Math.max(patience_ms, ms);
      return timers.after(ms > 1_000 ? 0 : ms, run);
    };
    const { stop } = machines({ ...quick_terms, waits_ms: [60_000, 60_000] }, undefined, after);
    await expect.poll(() => receiver.received.length).toBe(1);
    await stop();
    expect(patience_ms).toBe(4_000);
    expect(await org.deliveries()).toMatchObject([{ status: "pending", attempts: 1 }]);
    const error = "The service stopped during this attempt; whether it arrived is not known.";
    const [settled] = await db.query("select outcomes from deliveries where org_id = $1", [org.org_id]);
    expect(settled).toMatchObject({ outcomes: [{ number: 1, error }] });
  });
});
