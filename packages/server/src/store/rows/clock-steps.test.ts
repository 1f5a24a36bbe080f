/** What happened around the time at which a clock was set back is found by every list, then and later. */
import { formatTimestampUs } from "@countersign/core";
import { expect, test } from "vitest";
import { noteClock } from "../../operations/upkeep/note-clock.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call, testOrganization } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { recordClock } from "./clock-steps.ts";

const database = await testDatabase();
const { db } = database;
const at = (time: string) => Date.parse(time) * 1000;
const us = (time: string) => formatTimestampUs(at(time));
const steps = () => db.query<{ back_to: string; ahead_to: string }>("select * from clock_steps order by 1");
const note = (now: string, reached = now) => db.system((query) => recordClock(query, us(now), us(reached)));
const body = { intent: { agent: { id: "a" }, action: { verb: "read" } } };

test("a key, a membrane and a span of time list what came after a clock had been ahead, also when its time has come", async () => {
  let now_us = at("2031-01-10T00:00:00Z");
  let reached_us = now_us;
  const clock = {
    now_us: () => {
      now_us += 1_000;
      reached_us = Math.max(reached_us, now_us);
      return now_us;
    },
    reached_us: () => reached_us,
  };
  const { url } = await serviceNode(database, { clock });
  const key = (await (await testOrganization(db, clock)).key()).api_key;
  const post = async (path: string, key: string, body?: unknown) =>
    (await call(url, "POST", path, { key, ...(body === undefined ? {} : { body }) })).json;
  const pass = async (time: string) => {
    now_us = at(time);
    await noteClock({ db, clock });
  };
  const submit = async (key: string, more = {}) => (await post("/v1/intents", key, { ...body, ...more })).intent_id;

  const before = await submit(key);
  await pass("2031-04-01T00:00:00Z");
  const agent = (await post("/v1/api-keys", key, { role: "agent" })) as {
    key_id: string;
    api_key: string;
  };
  const { membrane_id } = (await post("/v1/membranes", key, { name: "made ahead" })).membrane;
  const ahead = await submit(agent.api_key);
  await pass("2031-01-11T00:00:00Z");
  const after = [await submit(agent.api_key), await submit(agent.api_key)];
  const of_membrane = await submit(key, { membrane_id });

  const intents = async (path: string, key: string) =>
    (await call(url, "GET", path, { key })).json.intents.map((each: { intent_id: string }) => each.intent_id);
  const trail = async (span: string) =>
    new Set(
      (await call(url, "GET", `/v1/audit?limit=200&${span}`, { key })).json.audit.map(
        (each: { intent_id: string | null }) => each.intent_id,
      ),
    );
  const look = async () => {
    expect(await intents("/v1/intents", agent.api_key)).toEqual([ahead, ...after.toReversed()]);
    expect(await intents(`/v1/intents?membrane_id=${membrane_id}`, key)).toEqual([of_membrane]);
    expect(await trail("from=2031-01-10T00:00:00Z&to=2031-01-10T12:00:00Z")).toContain(before);
    expect(await trail("from=2031-01-11T00:00:00Z&to=2031-01-11T12:00:00Z")).toEqual(new Set([...after, of_membrane]));
    expect(await trail("from=2031-04-01T00:00:00Z&to=2031-04-01T12:00:00Z")).toContain(ahead);
    expect(await trail(`actor=${agent.key_id}`)).toEqual(new Set([ahead, ...after]));
  };
  await look();
  await pass("2031-06-01T00:00:00Z");
  for (let n = 0; n < 40; n++) await submit(key);
  await look();
});

test("clocks that are a little apart leave no step, steps that touch are one, others stay apart", async () => {
  await db.query("delete from clock_steps");
  await db.query("delete from clock_reached");
  await note("2040-01-01T00:00:00Z");
  await note("2039-12-31T23:55:30Z");
  expect(await steps()).toEqual([]);
  await note("2039-12-31T23:00:00Z");
  await note("2039-12-31T22:30:00Z");
  await note("2039-12-31T22:40:00Z");
  expect(await steps()).toEqual([{ back_to: us("2039-12-31T22:30:00Z"), ahead_to: us("2040-01-01T00:00:00Z") }]);
  await note("2040-03-01T00:00:00Z", "2041-01-01T00:00:00Z");
  expect(await steps()).toEqual([
    { back_to: us("2039-12-31T22:30:00Z"), ahead_to: us("2040-01-01T00:00:00Z") },
    { back_to: us("2040-03-01T00:00:00Z"), ahead_to: us("2041-01-01T00:00:00Z") },
  ]);
});
