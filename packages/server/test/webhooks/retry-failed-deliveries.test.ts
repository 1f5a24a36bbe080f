/** Source: spec §2.4. */
import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { meanwhile } from "../../src/testing/meanwhile.ts";
import { testReceiver } from "../../src/testing/network/receiver.ts";
import { webhookNode, webhookOrganization } from "../../src/testing/nodes/webhook-node.ts";

const database = await testDatabase();
let url: string;
beforeAll(async () => {
  ({ url } = await webhookNode(database));
});

/** An organization whose receiver has refused `count` events, newest first. */
async function afterOutage(count: number) {
  const answers = { status: 500 };
  const receiver = await testReceiver((response) => response.writeHead(answers.status).end());
  const org = await webhookOrganization(database, url);
  const webhook = await org.register(receiver.url);
  for (let n = 0; n < count; n += 1) await org.submit();
  await expect.poll(org.failed).toHaveLength(count);
  const ids: string[] = (await org.failed()).map(({ delivery_id }: { delivery_id: string }) => delivery_id);
  const retryPage = async (query: string) => {
    const { status, json } = await org.api("POST", `/deliveries/failed/retry?${query}`);
    expect([status, json.error]).toEqual([202, undefined]);
    return json as { deliveries: { original_delivery_id: string }[]; next_cursor: string | null };
  };
  /** Requests every page `times` times at once. Returns the original ids of the retried deliveries. */
  const walk = async (query: string, { times = 1, from = "" }: { times?: number; from?: string | null } = {}) => {
    const originals: string[] = [];
    for (let cursor = from; cursor !== null; ) {
      const at: string = cursor === "" ? query : `${query}&cursor=${cursor}`;
      const pages = await Promise.all(Array.from({ length: times }, () => retryPage(at)));
      originals.push(...pages.flatMap((page) => page.deliveries.map((retry) => retry.original_delivery_id)));
      cursor = pages[0]?.next_cursor ?? null;
    }
    return originals;
  };
  return { ...org, webhook_id: webhook.id as string, answers, receiver, ids, retryPage, walk };
}

describe("failed deliveries are retried", () => {
  test("once for each event in one pass over all pages, even if pages repeat or earlier retries failed", async () => {
    const { org_id, key_id, api, answers, failed, ids, receiver, walk } = await afterOutage(5);
    // One retry failed again. It represents its chain of deliveries.
    await api("POST", `/deliveries/${ids[2]}/retry`);
    await expect.poll(failed).toHaveLength(6);
    const before = receiver.received.length;
    answers.status = 200;
    expect((await walk("limit=2", { times: 3 })).sort()).toEqual([...ids].sort());
    const statuses = async () =>
      (await failed()).map((each: { latest_retry: { status: string } }) => each.latest_retry.status);
    await expect.poll(statuses).toEqual(Array.from({ length: 6 }, () => "delivered"));
    const sent = receiver.received.slice(before);
    expect(sent).toHaveLength(5);
    expect(new Set(sent.map(({ headers }) => headers["x-service-retry"]))).toEqual(new Set(["true"]));
    const events = (list: typeof sent) => list.map(({ body }) => JSON.parse(body).intent_id).sort();
    expect(events(sent)).toEqual([...new Set(events(receiver.received))]);
    const told = await database.db.query<{ actor: string; of: string }>(
      "select actor, data ->> 'original_delivery_id' as of from audit where org_id = $1 and type = 'delivery_retried'",
      [org_id],
    );
    expect(told.map(({ of }) => of).sort()).toEqual([ids[2], ...ids].sort());
    expect(new Set(told.map(({ actor }) => actor))).toEqual(new Set([key_id]));
    expect(await walk("limit=200")).toEqual([]);
    expect(receiver.received).toHaveLength(before + 5);
  });

  test("only in the next pass if they fail again during this one", async () => {
    const { answers, failed, ids, retryPage, walk } = await afterOutage(3);
    const first = await retryPage("limit=1");
    expect(first.deliveries.map((each) => each.original_delivery_id)).toEqual([ids[0]]);
    await expect.poll(failed).toHaveLength(4);
    expect(await walk("limit=1", { from: first.next_cursor })).toEqual([ids[1], ids[2]]);
    await expect.poll(failed).toHaveLength(6);
    answers.status = 200;
    expect((await walk("limit=4")).sort()).toEqual([...ids].sort());
  });

  test("to the named webhook, unless switched off or deleted; switched on again, it also gets cancelled ones", async () => {
    const { org_id, api, answers, failed, ids, receiver, register, walk, webhook_id } = await afterOutage(2);
    expect(await walk("webhook_id=wh_0000000000000000000000000A")).toEqual([]);
    const switched = (active: boolean) => api("PATCH", `/${webhook_id}`, { active });
    await switched(false);
    expect(await walk("limit=1")).toEqual([]);
    await switched(true);
    await api("POST", `/deliveries/${ids[0]}/retry`);
    await expect.poll(failed).toHaveLength(3);
    await database.db.query(
      "update deliveries set status = 'cancelled' where org_id = $1 and original_delivery_id = $2",
      [org_id, ids[0]],
    );
    const other = await register(`${receiver.url}/other`);
    answers.status = 200;
    expect(await walk(`webhook_id=${other.id}`)).toEqual([]);
    expect(await walk(`webhook_id=${webhook_id}`)).toEqual(ids);
    await api("DELETE", `/${webhook_id}`);
    expect(await walk("limit=10")).toEqual([]);
  });

  test("not while a retry is pending, even if a cancelled delivery has a later id", async () => {
    const { org_id, ids, walk } = await afterOutage(1);
    const copies = [
      { delivery_id: `${ids[0]}0`, status: "pending", due_at: "2100-01-01T00:00:00Z", settled_at: null },
      { delivery_id: `${ids[0]}1`, status: "cancelled" },
    ];
    for (const copy of copies)
      await database.db.query(
        `insert into deliveries select r.* from deliveries d, jsonb_populate_record(d, $3::jsonb) r
         where d.org_id = $1 and d.delivery_id = $2`,
        [org_id, ids[0], JSON.stringify({ ...copy, original_delivery_id: ids[0] })],
      );
    expect(await walk("")).toEqual([]);
  });

  test("only by operators and admins of the same organization", async () => {
    const { answers, api, failed, ids, key, walk } = await afterOutage(1);
    const stranger = await webhookOrganization(database, url);
    answers.status = 200;
    expect((await stranger.api("POST", "/deliveries/failed/retry")).json).toEqual({
      deliveries: [],
      next_cursor: null,
    });
    const { api_key: reviewer } = await key({ role: "reviewer" });
    expect((await api("POST", "/deliveries/failed/retry", undefined, reviewer)).status).toBe(403);
    expect((await failed())[0].latest_retry).toBeNull();
    expect(await walk("")).toEqual(ids);
  });

  test("not for an invalid query, which is refused with the place", async () => {
    const org = await webhookOrganization(database, url);
    for (const [query, path] of [
      ["limit=0", "/limit"],
      ["limit=201", "/limit"],
      ["cursor=x", "/cursor"],
      ["webhook_id=", "/webhook_id"],
      ["status=failed", "/status"],
    ]) {
      const { status, json } = await org.api("POST", `/deliveries/failed/retry?${query}`);
      expect([status, json.error.code, json.error.details[0].path]).toEqual([400, "invalid_request", path]);
    }
  });
});

test.each(["deleted", "switched off"])(
  "not to a webhook that is %s while the request waits, neither one nor all",
  async (how) => {
    const { org_id, api, webhook_id, ids } = await afterOutage(2);
    const answers: Awaited<ReturnType<typeof api>>[] = [];
    const retry =
      (which = "") =>
      async () =>
        void answers.push(await api("POST", `/deliveries/${which}/retry`));
    await meanwhile(database.db, (query) => query("select from org_heads where org_id = $1 for update", [org_id]), [
      () => (how === "deleted" ? api("DELETE", `/${webhook_id}`) : api("PATCH", `/${webhook_id}`, { active: false })),
      retry(ids[0]),
      retry("failed"),
    ]);
    const refused = answers.find(({ json }) => json.error !== undefined);
    expect(refused?.json.error.code).toBe("state_conflict");
    const all = answers.find(({ status }) => status === 202);
    expect(all?.json.deliveries).toEqual([]);
    const told = "select from audit where org_id = $1 and type = 'delivery_retried'";
    expect(await database.db.query(told, [org_id])).toEqual([]);
  },
);
