import { beforeAll, describe, expect, test } from "vitest";
import { loadPacks } from "../../edge/start/pack-files.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";

const database = await testDatabase();
const { packs } = await loadPacks();
let url: string;
let key: string;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  key = (await (await testOrganization(database.db)).key({ role: "agent" })).api_key;
});
const get = (path: string) => call(url, "GET", `/v1/packs${path}`, { key });

describe("packs", () => {
  test("the list has all packs by name, page by page, each as it is read alone", async () => {
    const all = (await get("?limit=100")).json;
    expect(all.next_cursor).toBeNull();
    expect(all.packs.map(({ name }: { name: string }) => name)).toEqual([...packs.keys()].sort());
    const paged: unknown[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { json } = await get(`?limit=5${cursor === "" ? "" : `&cursor=${cursor}`}`);
      paged.push(...json.packs);
      cursor = json.next_cursor;
    }
    expect(paged).toEqual(all.packs);
    for (const pack of all.packs) expect((await get(`/${pack.name}`)).json).toEqual({ pack });
  });

  test("a pack names the facts that its rules read, with the assurance that they need", async () => {
    expect((await get("/account")).json.pack.facts).toEqual([
      { path: "entity_state.account_balance_usd", assurance: "stored" },
      { path: "entity_state.account_status", assurance: "stored" },
    ]);
  });

  test("a pack shows its rules in their order, with effect and citations", async () => {
    for (const pack of packs.values()) {
      const { rules, version } = (await get(`/${pack.name}`)).json.pack;
      expect(version).toBe(pack.version);
      expect(rules).toEqual(
        pack.rules.map(({ metadata: { name, title, citations }, spec: { effect, override } }) => ({
          name,
          title: title ?? name,
          effect,
          override: override ?? "reviewer",
          citations: citations ?? [],
        })),
      );
    }
    const { rules } = (await get("/gdpr")).json.pack;
    expect(rules.every(({ citations }: { citations: string[] }) => citations.length > 0)).toBe(true);
  });

  test("404 for a pack that does not exist, 400 for a foreign cursor, 401 without a key", async () => {
    for (const name of ["nope", "constructor", "Gdpr"]) expect((await get(`/${name}`)).status).toBe(404);
    expect((await get("?cursor=bm9wZQ")).status).toBe(400);
    expect((await call(url, "GET", "/v1/packs", {})).status).toBe(401);
  });
});
