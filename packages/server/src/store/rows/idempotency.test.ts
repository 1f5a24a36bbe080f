import { describe, expect, it } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { deleteOldIdempotencyKeys, type IdempotentRequest, once, readIdempotencyKey } from "./idempotency.ts";

const { db } = await testDatabase({ tenant_sessions_max: 12 });

const request = (org_id: string, wanted: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
  org_id,
  operation: "create_key",
  idempotency_key: "k",
  request_sha256: "ab".repeat(32),
  created_at: "2026-11-21T03:36:48.123456Z",
  ...wanted,
});
const run = <T>(wanted: IdempotentRequest, work: () => Promise<T>) =>
  db.tenant(wanted.org_id, (query) => once(query, wanted, work));

describe("an idempotency key", () => {
  it("runs the work for the first request and gives its answer to every later one", async () => {
    expect(await run(request("org_a"), async () => ({ n: 1 }))).toEqual({ response: { n: 1 }, replayed: false });
    expect(await run(request("org_a"), async () => ({ n: 2 }))).toEqual({ response: { n: 1 }, replayed: true });
  });

  it("of many concurrent requests lets one do the work", async () => {
    let works = 0;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => run(request("org_b"), async () => ({ work: ++works }))),
    );
    expect(works).toBe(1);
    expect(answers.map((each) => each.response)).toEqual(Array.from({ length: 10 }, () => ({ work: 1 })));
    expect(answers.filter((each) => !each.replayed)).toHaveLength(1);
  });

  it("with another request is a conflict", async () => {
    await run(request("org_c"), async () => 1);
    await expect(run(request("org_c", { request_sha256: "cd".repeat(32) }), async () => 2)).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  it("of failed work is free again", async () => {
    const failing = run(request("org_d"), () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await run(request("org_d"), async () => 2)).toEqual({ response: 2, replayed: false });
  });

  it("of another organization or operation is another key", async () => {
    await run(request("org_e"), async () => 1);
    expect(await run(request("org_f"), async () => 2)).toMatchObject({ replayed: false });
    expect(await run(request("org_e", { operation: "register_webhook" }), async () => 3)).toMatchObject({
      replayed: false,
    });
    await run(request("org_e", { idempotency_key: "other" }), async () => 4);
    const again = async (wanted: IdempotentRequest) => (await run(wanted, async () => "new")).response;
    expect([
      ...[await again(request("org_e")), await again(request("org_f"))],
      await again(request("org_e", { operation: "register_webhook" })),
    ]).toEqual([1, 2, 3]);
  });

  it("is known by its organization and its operation only", async () => {
    const known = (wanted: IdempotentRequest) => db.tenant(wanted.org_id, (query) => readIdempotencyKey(query, wanted));
    await run(request("org_h"), async () => 1);
    expect(await known(request("org_h"))).toBe(true);
    expect(await known(request("org_h", { operation: "register_webhook" }))).toBe(false);
    expect(await known(request("org_h", { idempotency_key: "other" }))).toBe(false);
    expect(await known(request("org_i"))).toBe(false);
  });

  it("is deleted for its age by the database's time; the young ones are kept", async () => {
    await db.query("delete from idempotency_keys");
    const [at] = await db.query<{ old: string; young: string }>(
      "select now() - interval '26 hours' as old, now() - interval '24 hours' as young",
    );
    const { old, young } = at as Exclude<typeof at, undefined>;
    await run(request("org_g", { idempotency_key: "old", created_at: old }), async () => 1);
    await run(request("org_g", { idempotency_key: "young", created_at: young }), async () => 1);
    expect(await db.system((query) => deleteOldIdempotencyKeys(query, 25))).toBe(1);
    expect(await db.query("select idempotency_key from idempotency_keys where org_id = 'org_g'")).toEqual([
      { idempotency_key: "young" },
    ]);
  });
});
