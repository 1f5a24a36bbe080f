import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { plainSettings } from "../../testing/deliveries.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import {
  cancelDeliveries,
  insertDelivery,
  lockDeliveries,
  readDelivery,
  readFailedDeliveries,
  retryIsPending,
} from "./deliveries.ts";
import {
  countWebhooks,
  deleteWebhooks,
  escalationExists,
  insertWebhook,
  lockWebhook,
  readWebhook,
  readWebhooks,
  type StoredWebhook,
  updateWebhook,
} from "./webhooks.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = "2026-11-21T03:00:00.000000Z";
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;

async function delivery(org_id: string, webhook_id: string, status: string, original: string | null = null) {
  const delivery_id = ids.next("delivery");
  const about = { event_type: "quota.exceeded", intent_id: null, escalation_id: null, body: "{}" };
  const event = { event_id: ids.next("event"), original_delivery_id: original ?? delivery_id, created_at: at };
  await db.system((query) => insertDelivery(query, { org_id, delivery_id, webhook_id, ...about, ...event }));
  if (status !== "pending")
    await db.query("update deliveries set status = $2, settled_at = $3::timestamptz where delivery_id = $1", [
      ...[delivery_id, status, at],
    ]);
  return delivery_id;
}

async function webhook(organization_id: string, wanted: Partial<StoredWebhook> = {}): Promise<StoredWebhook> {
  const row: StoredWebhook = {
    ...{ id: ids.next("webhook"), created_at: at, url: "https://a.test/", organization_id, escalation_id: null },
    ...{ event_types: ["quota.exceeded"], secret: "***", active: true, description: "d", created_by: null },
    ...{ ...plainSettings, ...wanted },
  };
  await db.system((query) => insertWebhook(query, row, "sealed", null));
  return (await db.system((query) => readWebhook(query, organization_id, row.id))) as StoredWebhook;
}

test("failed deliveries of this organization and webhook are listed newest first, below the cursor", async () => {
  const [own, other] = await organizations();
  const failed = [await delivery(own, "wh_1", "failed"), await delivery(own, "wh_1", "failed")].reverse();
  const second = await delivery(own, "wh_2", "failed");
  for (const status of ["pending", "delivered", "cancelled"]) await delivery(own, "wh_1", status);
  await delivery(other, "wh_1", "failed");
  const list = async (terms: Partial<Parameters<typeof readFailedDeliveries>[2]> = {}) =>
    (
      await db.system((query) =>
        readFailedDeliveries(query, own, { limit: 9, before: null, webhook_id: null, ...terms }),
      )
    ).map((each) => each.delivery_id);
  expect(await list()).toEqual([second, ...failed].sort().reverse());
  expect(await list({ webhook_id: "wh_1" })).toEqual(failed);
  expect(await list({ webhook_id: "wh_1", limit: 1 })).toEqual(failed.slice(0, 1));
  expect(await list({ webhook_id: "wh_1", before: failed[0] as string })).toEqual(failed.slice(1));
});

test("only pending deliveries of these webhooks are cancelled, and they are settled then", async () => {
  const [own, other] = await organizations();
  const pending = [await delivery(own, "wh_1", "pending"), await delivery(own, "wh_3", "pending")].sort();
  const kept = {
    [await delivery(own, "wh_1", "failed")]: "failed",
    [await delivery(own, "wh_1", "delivered")]: "delivered",
    [await delivery(own, "wh_2", "pending")]: "pending",
    [await delivery(other, "wh_1", "pending")]: "pending",
  };
  await db.system((query) => cancelDeliveries(query, own, ["wh_1", "wh_3"]));
  const rows = await db.query<{ delivery_id: string; status: string; ended: boolean }>(
    "select delivery_id, status, settled_at > $2::timestamptz as ended from deliveries where org_id = any($1)",
    [[own, other], at],
  );
  expect(Object.fromEntries(rows.map(({ delivery_id, status }) => [delivery_id, status]))).toEqual({
    ...kept,
    ...Object.fromEntries(pending.map((id) => [id, "cancelled"])),
  });
  expect(
    rows
      .filter(({ ended }) => ended)
      .map(({ delivery_id }) => delivery_id)
      .sort(),
  ).toEqual(pending);
});

test("only its own organization can read a delivery with its body", async () => {
  const [own, other] = await organizations();
  const [failed, done] = [await delivery(own, "wh_1", "failed"), await delivery(own, "wh_1", "delivered")];
  const read = (org_id: string, id: string) => db.system((query) => readDelivery(query, org_id, id));
  expect(await read(own, failed)).toMatchObject({ delivery_id: failed, failed_at: at, body: "{}" });
  expect(await read(own, done)).toMatchObject({ delivery_id: done, failed_at: null });
  expect(await read(other, failed)).toBeUndefined();
});

test("the named deliveries of the organization, and no others, are locked until the transaction ends", async () => {
  const [own, other] = await organizations();
  const [first, second, third] = [
    await delivery(own, "wh_1", "failed"),
    await delivery(own, "wh_1", "failed"),
    await delivery(other, "wh_1", "failed"),
  ];
  const take = (id: string) =>
    db.system((query) => query("select from deliveries where delivery_id = $1 for update nowait", [id]));
  await db.system(async (query) => {
    await lockDeliveries(query, own, [first, third]);
    await expect(take(first)).rejects.toThrow(/could not obtain lock/);
    await take(second);
    await take(third);
  });
  await take(first);
});

test("a manual retry is in progress while it is pending, and only for this delivery", async () => {
  const [own, other] = await organizations();
  const [first, second] = [await delivery(own, "wh_1", "failed"), await delivery(own, "wh_1", "failed")];
  const pending = (org_id: string, id: string) => db.system((query) => retryIsPending(query, org_id, id));
  await delivery(own, "wh_1", "delivered", first);
  expect([await pending(own, first), await pending(own, second)]).toEqual([false, false]);
  await delivery(own, "wh_1", "pending", first);
  expect([await pending(own, first), await pending(own, second), await pending(other, first)]).toEqual([
    ...[true, false, false],
  ]);
});

test("switching a webhook on registers it again, and no other change does", async () => {
  const [own] = await organizations();
  const [row, neighbour] = [await webhook(own), await webhook(own)];
  await db.query("update webhooks set registered_seq = 7 where org_id = $1", [own]);
  const registered = async () => {
    const rows = await db.query<{ webhook_id: string; registered_seq: number }>(
      "select webhook_id, registered_seq from webhooks where org_id = $1",
      [own],
    );
    expect(rows.find(({ webhook_id }) => webhook_id === neighbour.id)).toMatchObject({ registered_seq: 7 });
    return rows.find(({ webhook_id }) => webhook_id === row.id)?.registered_seq;
  };
  const change = async (wanted: Partial<StoredWebhook>) => {
    await db.system((query) => updateWebhook(query, { ...row, ...wanted }, null));
    expect(await db.system((query) => readWebhook(query, own, row.id))).toEqual({ ...row, ...wanted });
  };
  await change({ url: "https://b.test/", description: "", event_types: ["rate_limit.exceeded"] });
  expect(await registered()).toBe(7);
  await change({ active: false });
  expect(await registered()).toBe(7);
  await db.query("update org_heads set audit_seq = 20 where org_id = $1", [own]);
  await change({ active: true });
  expect(await registered()).toBe(21);
  expect(await db.system((query) => readWebhook(query, own, neighbour.id))).toEqual(neighbour);
});

test("webhooks are read, counted, locked and deleted per organization, newest first", async () => {
  const [own, other] = await organizations();
  const rows = [await webhook(own), await webhook(own, { active: false }), await webhook(own)];
  const [newest, middle, oldest] = rows.sort((a, b) => (a.id < b.id ? 1 : -1)) as [
    ...[StoredWebhook, StoredWebhook, StoredWebhook],
  ];
  await webhook(other);
  const list = (limit: number, before: string | null) => db.system((query) => readWebhooks(query, own, limit, before));
  expect([await list(9, null), await list(1, newest.id)]).toEqual([[newest, middle, oldest], [middle]]);
  await db.system(async (query) => {
    expect(await countWebhooks(query, own)).toBe(3);
    expect([await readWebhook(query, other, oldest.id), await lockWebhook(query, other, oldest.id)]).toEqual([
      ...[undefined, undefined],
    ]);
    expect(await lockWebhook(query, own, oldest.id)).toEqual(oldest);
    const taken = db.system((others) =>
      others("select from webhooks where webhook_id = $1 for update nowait", [oldest.id]),
    );
    await expect(taken).rejects.toThrow(/could not obtain lock/);
    expect(await deleteWebhooks(query, own, [middle.id])).toEqual([middle]);
    expect(await deleteWebhooks(query, other, [oldest.id])).toEqual([]);
    expect(await escalationExists(query, own, "esc_none")).toBe(false);
  });
  expect(await list(9, null)).toEqual([newest, oldest]);
});
