import { expect, test } from "vitest";
import { createClock } from "../../src/edge/clock.ts";
import { createIds } from "../../src/edge/ids.ts";
import { auditRow } from "../../src/store/audit/audit.ts";
import { verifyAudit } from "../../src/store/audit/verify-audit.ts";
import { cancelDeliveries } from "../../src/store/webhooks/deliveries.ts";
import {
  type LeasedDelivery,
  large_bytes,
  leaseDue,
  organizationsWithDue,
  type Room,
  settle,
} from "../../src/store/webhooks/delivery-queue.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { hearingOrganization, roomy } from "../../src/testing/deliveries.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = "2026-11-21T00:00:00.000000Z";

interface Added {
  readonly due_in_s?: number;
  readonly status?: string;
  readonly bytes?: number;
}

/** Adds a pending or ended delivery and returns its id. */
async function add(org_id: string, webhook_id: string, { due_in_s = -1, status = "pending", bytes = 2 }: Added = {}) {
  const delivery_id = ids.next("delivery");
  await db.query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, body, status, attempts, outcomes, due_at, created_at)
     values ($1, $2, $3, $2, 'quota.exceeded', repeat('x', $4::integer), $5, 0, '[]',
       clock_timestamp() + $6::integer * interval '1 second', $7::timestamptz)`,
    [org_id, delivery_id, webhook_id, bytes, status, due_in_s, at],
  );
  return delivery_id;
}

const leasedNow = async (org_id: string, terms: Partial<Room> = {}) =>
  (await leaseDue(db, org_id, { ...roomy, ...terms })).deliveries;
const idsOf = (deliveries: readonly LeasedDelivery[]) => deliveries.map(({ delivery_id }) => delivery_id).sort();
const emptied = () => db.query("update deliveries set status = 'cancelled' where status = 'pending'");
const rowOf = async (delivery_id: string) =>
  (
    await db.query<{ status: string; attempts: number; wait_s: number; settled: boolean }>(
      `select status, attempts, settled_at is not null as settled, extract(epoch from due_at - clock_timestamp())::float8 as wait_s
       from deliveries where delivery_id = $1`,
      [delivery_id],
    )
  )[0];
const leasesOver = () => db.query("update deliveries set due_at = clock_timestamp() where status = 'pending'");

test("ended deliveries take no place of due ones, and their receiver counts as having none due", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 3);
  for (const webhook_id of webhook_ids)
    for (const status of ["delivered", "failed", "cancelled"]) await add(org_id, webhook_id, { due_in_s: -60, status });
  const due = [await add(org_id, webhook_ids[0]), await add(org_id, webhook_ids[0])];
  const first = await leaseDue(db, org_id, { ...roomy, per_webhook: 2 });
  expect(idsOf(first.deliveries)).toEqual(due.sort());
  expect(first).toMatchObject({ more: [], blocked: false });
  await emptied();
  expect(await leaseDue(db, org_id, roomy)).toEqual({ deliveries: [], more: [], blocked: false });
});

test("later deliveries are not leased, and a look finds their organization when the first is due", async () => {
  const [{ org_id, webhook_ids }, other] = [await hearingOrganization(db, 3), await hearingOrganization(db, 1)];
  for (const webhook_id of webhook_ids)
    for (const due_in_s of [7_200, 3_600]) await add(org_id, webhook_id, { due_in_s });
  for (const status of ["delivered", "failed", "cancelled"]) await add(other.org_id, other.webhook_ids[0], { status });
  expect(await leaseDue(db, org_id, roomy)).toEqual({ deliveries: [], more: [], blocked: false });
  expect(await db.system(organizationsWithDue)).toEqual([]);
  const now = await add(org_id, webhook_ids[2] as string);
  expect(await db.system(organizationsWithDue)).toEqual([org_id]);
  expect(idsOf(await leasedNow(org_id))).toEqual([now]);
  expect(await db.system(organizationsWithDue)).toEqual([]);
  await emptied();
});

test("a lease takes no delivery of another organization, even from a webhook with the same id", async () => {
  const [own, other] = [await hearingOrganization(db, 1), await hearingOrganization(db, 1)];
  const due = await add(own.org_id, own.webhook_ids[0]);
  const foreign = await add(other.org_id, own.webhook_ids[0]);
  expect(idsOf(await leasedNow(own.org_id))).toEqual([due]);
  expect(await rowOf(foreign)).toMatchObject({ attempts: 0 });
  await emptied();
});

test("an organization's receivers take turns, and each gets the longest due delivery first", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const [busy, other] = webhook_ids as [string, string];
  const long: string[] = [];
  for (let n = 0; n < 8; n += 1) long.unshift(await add(org_id, busy, { due_in_s: -100 - n }));
  const single = await add(org_id, other, { due_in_s: -1 });
  expect(idsOf(await leasedNow(org_id, { places: 4 }))).toEqual([...long.slice(0, 3), single].sort());
  await emptied();
});

test("a receiver with more in flight than its current share gets nothing, and delays nobody", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 2);
  const [over, other] = webhook_ids as [string, string];
  await add(org_id, over);
  const due = await add(org_id, other);
  expect(idsOf(await leasedNow(org_id, { receivers: { [over]: -3 } }))).toEqual([due]);
  await emptied();
});

test("each delivery goes to its own webhook's URL, and to none if that is inactive", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 3);
  await db.query("update webhooks set active = false where webhook_id = $1", [webhook_ids[1]]);
  for (const webhook_id of webhook_ids) await add(org_id, webhook_id);
  const urls = Object.fromEntries((await leasedNow(org_id)).map(({ webhook_id, url }) => [webhook_id, url]));
  const [first, inactive, third] = webhook_ids as [string, string, string];
  expect(urls).toEqual({
    [first]: `https://receiver.test/${first}`,
    [inactive]: null,
    [third]: `https://receiver.test/${third}`,
  });
  await emptied();
});

test("a body is large from its 65,537th byte on, and large ones are leased up to the last byte that may be in flight", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const small = await add(org_id, webhook_ids[0], { bytes: large_bytes.over });
  const large = await add(org_id, webhook_ids[0], { bytes: large_bytes.over + 1 });
  expect(idsOf(await leasedNow(org_id, { large_bytes: large_bytes.over, lone_bytes: 0 }))).toEqual([small]);
  expect(idsOf(await leasedNow(org_id, { large_bytes: large_bytes.over + 1, lone_bytes: 0 }))).toEqual([large]);
  await emptied();
});

test("the first large body may exceed the limit of bytes in flight, and then goes alone", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const bytes = large_bytes.over + 1;
  const [first] = [
    await add(org_id, webhook_ids[0], { bytes, due_in_s: -9 }),
    await add(org_id, webhook_ids[0], { bytes }),
  ];
  const small = await add(org_id, webhook_ids[0]);
  const room = { large_bytes: bytes - 1, lone_bytes: bytes };
  expect(idsOf(await leasedNow(org_id, { ...room, lone_bytes: bytes - 1, places: 2 }))).toEqual([]);
  expect(idsOf(await leasedNow(org_id, room))).toEqual([first, small].sort());
  await emptied();
});

test("a delivery is leased for three attempts; a fourth lease only lets the node record the end of the third", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const delivery_id = await add(org_id, webhook_ids[0]);
  for (const number of [1, 2, 3, 4]) {
    expect((await leasedNow(org_id)).map((each) => [each.delivery_id, each.number])).toEqual([[delivery_id, number]]);
    expect(await leasedNow(org_id)).toEqual([]);
    await leasesOver();
  }
  const end = { delivery_id, status: "failed", outcomes: [], wait_ms: 0, audit: null } as const;
  await settle(db, org_id, [{ ...end, attempts: 4 }]);
  expect(await rowOf(delivery_id)).toMatchObject({ status: "pending", attempts: 3 });
  await settle(db, org_id, [{ ...end, attempts: 3 }]);
  expect(await rowOf(delivery_id)).toMatchObject({ status: "failed", attempts: 3 });
});

test("ended deliveries stay unchanged, except a cancelled one that its receiver accepted", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const statuses = ["delivered", "failed", "cancelled"] as const;
  for (const before of statuses)
    for (const status of ["pending", ...statuses] as const) {
      const delivery_id = await add(org_id, webhook_ids[0], { status: before });
      const audit = auditRow(ids, { intent_id: null, at, actor: "system", type: "delivered", data: { delivery_id } });
      await settle(db, org_id, [{ delivery_id, attempts: 0, status, outcomes: [], wait_ms: 0, audit }]);
      const changes = before === "cancelled" && status === "delivered";
      expect(await rowOf(delivery_id)).toMatchObject({ status: changes ? status : before });
      const told = await db.query("select from audit where org_id = $1 and audit_id = $2", [org_id, audit.audit_id]);
      expect(told).toHaveLength(changes ? 1 : 0);
    }
});

test("settling writes audit rows in the order of attempts, for this organization only, and the next due time", async () => {
  const [own, other] = [await hearingOrganization(db, 1), await hearingOrganization(db, 1)];
  const trail = (org_id: string) => db.system((query) => verifyAudit(query, org_id));
  const before = await trail(other.org_id);
  for (let n = 0; n < 12; n += 1) await add(own.org_id, own.webhook_ids[0]);
  const leased = await leasedNow(own.org_id);
  const settlements = leased.map(({ delivery_id, number }, index) => {
    const pending = index % 4 === 1;
    const data = { delivery_id };
    return {
      ...{ delivery_id, attempts: number, outcomes: [], wait_ms: pending ? 3_600_000 : 0 },
      status: pending ? ("pending" as const) : ("delivered" as const),
      audit: pending ? null : auditRow(ids, { intent_id: null, at, actor: "system", type: "delivered", data }),
    };
  });
  await settle(db, own.org_id, settlements);
  const rows = await db.query<{ id: string }>(
    "select data ->> 'delivery_id' as id from audit where org_id = $1 and type = 'delivered' order by seq",
    [own.org_id],
  );
  const delivered = settlements.filter(({ status }) => status === "delivered");
  expect(rows.map(({ id }) => id)).toEqual(delivered.map(({ delivery_id }) => delivery_id));
  for (const { delivery_id, status } of settlements) {
    const row = await rowOf(delivery_id);
    expect(row).toMatchObject({ status, settled: status === "delivered" });
    if (status === "pending") expect(row?.wait_s).toBeGreaterThan(3_500);
  }
  const [{ delivery_id }] = settlements.filter(({ status }) => status === "pending") as [(typeof settlements)[0]];
  // A settlement without an audit record leaves the trail unchanged.
  const told = await trail(own.org_id);
  const retried = { delivery_id, attempts: 1, status: "pending", outcomes: [], wait_ms: 0, audit: null } as const;
  await settle(db, own.org_id, [retried]);
  expect(told).toMatchObject({ sound: true });
  expect(await trail(own.org_id)).toEqual(told);
  expect(await trail(other.org_id)).toEqual(before);
  await emptied();
});

function took(delivery_id: string) {
  const audit = auditRow(ids, { intent_id: null, at, actor: "system", type: "delivered", data: { delivery_id } });
  return { delivery_id, attempts: 1, status: "delivered", outcomes: [], wait_ms: 0, audit } as const;
}

test.each(
  ["first", "last"].flatMap((held) =>
    ["cancelling", "settling"].flatMap((first) => [
      [held, first, "rising"] as const,
      [held, first, "falling"] as const,
    ]),
  ),
)(
  "deleting a webhook and settling its attempts lock in one order: with the %s delivery held, %s first, %s ids",
  async (held, first, sorted) => {
    const { org_id, webhook_ids } = await hearingOrganization(db, 1);
    const delivery_ids: string[] = [];
    // Deliveries with later ids are due and leased earlier.
    for (let n = 0; n < 3; n += 1) delivery_ids.push(await add(org_id, webhook_ids[0], { due_in_s: -1 - n }));
    await leasedNow(org_id);
    let runs = 0;
    const cancelling = () =>
      db.system((query) => {
        runs += 1;
        return cancelDeliveries(query, org_id, [webhook_ids[0]]);
      });
    const settlements = delivery_ids.map(took);
    const settling = () => settle(db, org_id, sorted === "rising" ? settlements : settlements.toReversed());
    const hold = "select from deliveries where delivery_id = $1 for update";
    await meanwhile(
      db,
      (query) => query(hold, [delivery_ids.at(held === "first" ? 0 : -1)]),
      first === "settling" ? [settling, cancelling] : [cancelling, settling],
    );
    expect(runs).toBe(1);
    for (const id of delivery_ids) expect(await rowOf(id)).toMatchObject({ status: "delivered" });
  },
);

test("an accepted delivery counts as delivered, even if its settlement waited for the webhook's deletion", async () => {
  const { org_id, webhook_ids } = await hearingOrganization(db, 1);
  const delivery_id = await add(org_id, webhook_ids[0]);
  await leasedNow(org_id);
  const settlement = took(delivery_id);
  await meanwhile(db, (query) => cancelDeliveries(query, org_id, [webhook_ids[0]]), [
    () => settle(db, org_id, [settlement]),
  ]);
  expect(await rowOf(delivery_id)).toMatchObject({ status: "delivered" });
  const told = await db.query("select from audit where audit_id = $1", [settlement.audit.audit_id]);
  expect(told).toHaveLength(1);
});
