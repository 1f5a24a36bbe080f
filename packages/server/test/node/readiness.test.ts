import { expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { waitingFor } from "../../src/testing/meanwhile.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

test("is not ready while the database does not answer in time, however often asked, and ready as soon as it does", async () => {
  const database = await testDatabase();
  const node = await serviceNode(database);
  const ready = async () => (await call(node.url, "GET", "/readyz")).status;
  const looks = async () => (await database.db.query(waitingFor("instance"))).length;
  expect(await ready()).toBe(200);
  await database.db.system(async (query) => {
    await query("lock table instance in access exclusive mode");
    const asked = Array.from({ length: 20 }, ready);
    await expect.poll(looks).toBe(1);
    expect(new Set(await Promise.all(asked))).toEqual(new Set([503]));
    expect(await looks()).toBe(1);
  });
  expect(await ready()).toBe(200);
});
