import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { deadlineIn, heldBody, type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let url = "";
beforeAll(async () => {
  url = (await serviceNode(database)).url;
});

const get = (path: string, key: string) => call(url, "GET", path, { key });
const post = (path: string, key: string, body: unknown) => call(url, "POST", path, { key, body });
const block = (escalation_id: string, key: string) =>
  post(`/v1/escalations/${escalation_id}/decision`, key, { outcome: "block" });

async function held(of: Reviewed): Promise<string> {
  const { json } = await post("/v1/intents", of.agent, heldBody);
  expect(json.decision.verdict).toBe("escalate");
  return json.decision.escalation_id;
}

test("lists newest first, page by page, filtered", async () => {
  const own = await reviewedOrganization(db, url);
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.unshift(await held(own));
  await post(`/v1/escalations/${ids[1]}/reassign`, own.operator, { reviewers: [{ type: "role", id: "operator" }] });
  await block(ids[0] ?? "", own.reviewer);
  const list = async (query: string) =>
    (await get(`/v1/escalations${query}`, own.reviewer)).json.escalations.map(
      (each: { escalation_id: string }) => each.escalation_id,
    );
  expect(await list("")).toEqual(ids);
  expect(await list("?status=pending")).toEqual(ids.slice(1));
  expect(await list("?reviewer=operator")).toEqual([ids[1]]);
  expect(await list("?reviewer=role:operator")).toEqual([ids[1]]);
  expect(await list("?agent_id=nobody")).toEqual([]);
  const { next_cursor } = (await get("/v1/escalations?limit=2", own.reviewer)).json;
  expect(await list(`?limit=2&cursor=${next_cursor}`)).toEqual(ids.slice(2));
  expect((await get("/v1/escalations?status=open", own.reviewer)).status).toBe(400);
  expect((await get("/v1/escalations", own.agent)).status).toBe(403);
});

test("lists a reviewer's cases for each key of one chain of rotations, and for no other key", async () => {
  const own = await reviewedOrganization(db, url);
  const made = async () => (await post("/v1/api-keys", own.admin, { role: "reviewer" })).json;
  const [first, other] = [await made(), await made()];
  const [mine, theirs] = [await held(own), await held(own)];
  const reassign = (escalation_id: string, id: string) =>
    post(`/v1/escalations/${escalation_id}/reassign`, own.operator, { reviewers: [{ type: "user", id }] });
  expect((await reassign(mine, first.key_id)).status).toBe(200);
  expect((await reassign(theirs, other.key_id)).status).toBe(200);
  const { json: second } = await post(`/v1/api-keys/${first.key_id}/rotate`, first.api_key, undefined);
  for (const name of [first.key_id, second.key_id, `user:${second.key_id}`]) {
    const { escalations } = (await get(`/v1/escalations?reviewer=${name}`, second.api_key)).json;
    expect(escalations.map((each: { escalation_id: string }) => each.escalation_id)).toEqual([mine]);
  }
  for (const name of ["%25", "_ser", "%5C", "role:%25"])
    expect((await get(`/v1/escalations?reviewer=${name}`, own.reviewer)).json.escalations).toEqual([]);
  expect((await block(mine, second.api_key)).status).toBe(200);
});

test("lists pending ones by time limit, page by page, even if many end at the same moment", async () => {
  const own = await reviewedOrganization(db, url);
  const ids: string[] = [];
  for (let n = 0; n < 7; n++) ids.push(await held(own));
  const [urgent = "", next = "", ...tied] = ids as [string, string, ...string[]];
  const closed = tied.pop() ?? "";
  await deadlineIn(db, tied, "30 minutes");
  await deadlineIn(db, [next], "20 minutes");
  await deadlineIn(db, [urgent, closed], "10 minutes");
  await block(closed, own.reviewer);
  // Reassigning keeps the time limit, so also the place.
  await post(`/v1/escalations/${urgent}/reassign`, own.operator, { reviewers: [{ type: "role", id: "reviewer" }] });
  const path = "/v1/escalations?status=pending&order=expires_at";
  for (const limit of [1, 2, 3, 6, 7]) {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { json } = await get(`${path}&limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`, own.reviewer);
      expect(json.escalations.length).toBeGreaterThan(0);
      seen.push(...json.escalations.map((each: { escalation_id: string }) => each.escalation_id));
      cursor = json.next_cursor;
    }
    expect(seen).toEqual([urgent, next, ...tied]);
  }
});

test("refuses the order by time limit for closed ones, and a cursor of another order", async () => {
  const own = await reviewedOrganization(db, url);
  for (let n = 0; n < 2; n++) await held(own);
  const path = "/v1/escalations?status=pending&limit=1";
  const of = async (more: string) => (await get(`${path}${more}`, own.reviewer)).json.next_cursor;
  const [newest, soonest] = [await of(""), await of("&order=expires_at")];
  const made = (place: string) => Buffer.from(place).toString("base64url");
  const [, id = ""] = Buffer.from(soonest, "base64url").toString().split(" ");
  for (const bad of [
    "/v1/escalations?order=expires_at",
    "/v1/escalations?order=expires_at&status=decided",
    "/v1/escalations?order=closed_at&status=pending",
    `${path}&cursor=${soonest}`,
    `${path}&order=expires_at&cursor=${newest}`,
    `${path}&order=expires_at&cursor=${made(`0000-01-01T00:00:00.000000Z ${id}`)}`,
    `${path}&order=expires_at&cursor=${made(`2026-01-01T00:00:00+23:59 ${id}`)}`,
    `${path}&order=expires_at&cursor=${made(`2026-01-01T00:00:00.000000Z ${id} ${id}`)}`,
  ])
    expect((await get(bad, own.reviewer)).status, bad).toBe(400);
});

test("a page of large escalations or intents ends after 4 MiB, and its cursor continues", async () => {
  const own = await reviewedOrganization(db, url);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) {
    const escalation_id = await held(own);
    ids.unshift(escalation_id);
    // The vote, the resolution and (twice) the decision contain it.
    const modifications = [{ op: "add", path: "/text", value: "x".repeat(1_000_000) }];
    const body = { outcome: "approve_modified", modifications };
    expect((await post(`/v1/escalations/${escalation_id}/decision`, own.reviewer, body)).status).toBe(200);
  }
  for (const [path, list] of [
    ["/v1/escalations", "escalations"],
    ["/v1/intents", "intents"],
  ] as const) {
    const pages: number[] = [];
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const { json } = await get(`${path}?limit=50${cursor === null ? "" : `&cursor=${cursor}`}`, own.reviewer);
      pages.push(json[list].length);
      found.push(...json[list].map((each: Record<string, string>) => each["escalation_id"] ?? each["intent_id"]));
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(pages, path).toEqual([3, 1]);
    expect(new Set(found).size, path).toBe(4);
    if (list === "escalations") expect(found).toEqual(ids);
  }
});
