import { expect, test } from "vitest";
import { parseTimestampUs } from "../time.ts";
import { factsOfNow } from "./facts-of-now.ts";
import { type ContextSource, type FactSource, mergeFacts, originOf } from "./merge.ts";

const us = (time: string): number => parseTimestampUs(`2026-11-18T${time}Z`) ?? Number.NaN;
const of = (source: FactSource, facts: object, at: string): ContextSource => ({
  source,
  document: { facts },
  received_us: us(at),
});
const decided_us = us("12:10:00");
const minutes = 60_000_000;
const ageOf = (
  ...[facts, category, field, now]: [ReturnType<typeof factsOfNow>, "identity" | "security", string, number]
) => (now - (originOf(facts, category, field)?.as_of_us ?? Number.NaN)) / minutes;

test("stored facts are the current ones, and submitted facts stay", () => {
  const before = mergeFacts([
    of("org", { identity: { account_status: "active", clearance_status: "cleared" } }, "12:00:00"),
    of("inline", { identity: { account_status: "invented" }, security: { siem_ref: "a" } }, "12:10:00"),
    of("pulled", { security: { active_security_incident: false } }, "12:09:00"),
  ]);
  const now = factsOfNow(
    before,
    decided_us,
    [of("org", { identity: { account_status: "frozen" } }, "20:00:00")],
    us("21:00:00"),
  );
  expect(now.identity?.values).toEqual({ account_status: "frozen" });
  expect(now.security?.values).toEqual({ active_security_incident: false, siem_ref: "a" });
  expect(originOf(now, "identity", "account_status")?.source).toBe("org");
});

test("facts keep their age; newer ones are as of the second decision", () => {
  const before = mergeFacts([
    of("pulled", { security: { active_security_incident: false } }, "12:09:00"),
    of("inline", { security: { siem_ref: "a" } }, "12:07:00"),
  ]);
  const stored = [
    of("org", { identity: { account_status: "active" } }, "12:00:00"),
    of("agent", { identity: { clearance_status: "x" } }, "15:00:00"),
  ];
  const now_us = us("21:00:00");
  const now = factsOfNow(before, decided_us, stored, now_us);
  expect(ageOf(now, "security", "active_security_incident", now_us)).toBe(1);
  expect(ageOf(now, "security", "siem_ref", now_us)).toBe(3);
  expect(ageOf(now, "identity", "account_status", now_us)).toBe(10);
  expect(ageOf(now, "identity", "clearance_status", now_us)).toBe(0);
});

test("a time too far ahead stays, and an inexact number stays unknown", () => {
  const before = mergeFacts([
    { ...of("pulled", { security: { siem_ref: null } }, "12:00:00"), inexact: { security: ["siem_ref"] } },
  ]);
  const now_us = us("13:00:00");
  const now = factsOfNow(
    before,
    decided_us,
    [of("org", { identity: { account_status: "active" } }, "14:00:00")],
    now_us,
  );
  expect(ageOf(now, "identity", "account_status", now_us)).toBe(-60);
  expect(now.security?.inexact).toEqual(["siem_ref"]);
});

test.each([
  ["moves on with the clock", "12:05:00", "22:30:00", 22, "22:25:00"],
  ["passes midnight", "12:05:00", "23:59:00", 23, "23:54:00"],
  ["begins no earlier than its hour", "12:05:00", "22:02:00", 22, "22:00:00"],
  ["stays as it was if it was over", "11:55:00", "22:30:00", 12, "11:55:00"],
])("a clock hour %s", (_title, as_of, at, hour, carried) => {
  const before = mergeFacts([of("inline", { environmental: { recipient_local_hour: 12 } }, as_of)]);
  const now = factsOfNow(before, decided_us, [], us(at));
  expect(now.environmental?.values).toEqual({ recipient_local_hour: hour });
  expect(originOf(now, "environmental", "recipient_local_hour")?.as_of_us).toBe(us(carried));
});
