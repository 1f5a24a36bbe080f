import { Fault } from "@countersign/core";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { timers } from "../../edge/timers.ts";
import { createCommitWriter } from "../../store/commit/commit-writer.ts";
import { decisionRows } from "../../testing/database/decision-rows.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { faultOf, faultText, refusalOf } from "./faults.ts";

test("a decision without room or without a database is refused with one Retry-After", async () => {
  const clock = createClock();
  const ids = createIds(clock);
  const connect = () => Promise.reject(new Error("connect ECONNREFUSED"));
  const writer = createCommitWriter({ connect, log: silentLog, clock, timers, queue_rows_max: 1, give_up_ms: 50 });
  const asked = [writer.commit(decisionRows(ids, "org_x")), writer.commit(decisionRows(ids, "org_x"))];
  const closing = writer.close();
  asked.push(writer.commit(decisionRows(ids, "org_x")));
  const refusals = (await Promise.allSettled(asked)).map((each) =>
    refusalOf((each as PromiseRejectedResult).reason as Fault, "req_x"),
  );
  expect(refusals.map(({ code }) => code)).toEqual(["unavailable", "overloaded", "unavailable"]);
  for (const { headers } of refusals) expect(headers).toEqual({ "retry-after": "1" });
  await closing;
});

test("a transaction that conflicts in every run is unavailable, not an internal error", () => {
  const told = (code: string) =>
    faultOf(Object.assign(new Error("reported by the server"), { code, severity: "ERROR" })).code;
  expect(["40001", "40P01", "XX000"].map(told)).toEqual(["unavailable", "unavailable", "internal_error"]);
});

test("a 400 lists at most fifty problems, also of a batch item; a policy document has its own maximum", () => {
  const details = Array.from({ length: 100 }, (_, index) => ({ path: `/packs/${index}` }));
  const told = (text: string) => JSON.parse(text);
  for (const code of ["invalid_request", "unknown_event_type"] as const) {
    const fault = new Fault(code, { details });
    expect(told(refusalOf(fault, "req_x").json_text).error.details).toEqual(details.slice(0, 50));
    expect(told(faultText(fault, "req_x")).details).toHaveLength(50);
  }
  expect(told(refusalOf(new Fault("policy_invalid", { details }), "req_x").json_text).error.details).toHaveLength(100);
});
