import type { Decision, IntentSubmission } from "@countersign/contract";
import { expect, test, vi } from "vitest";
import { ApiError } from "../errors.ts";
import { answering, decided } from "../testing/answering.ts";
import { createToolGate, type GateOptions, textWithNotes } from "./tool-gate.ts";

/** A gate in front of a service that answers `first`, and later `now`. */
function gateOf(first: Partial<Decision>, now: Partial<Decision> = first, options: Partial<GateOptions> = {}) {
  const { client, observed } = answering(first, now);
  const keys: (string | undefined)[] = [];
  const submitted: IntentSubmission[] = [];
  const asked = {
    ...client,
    submitIntent: vi.fn(async (submission: IntentSubmission, terms?: { readonly idempotency_key?: string }) => {
      submitted.push(submission);
      keys.push(terms?.idempotency_key);
      return { intent_id: "int_1", decision: decided(first) };
    }),
    getDecision: vi.fn(async () => decided(now)),
  };
  const gate = createToolGate(asked, "test", { agent: { id: "bot" }, ...options });
  return { gate, client: asked, keys, submitted, observed };
}

const pending = { status: "pending", outcome: null, escalation_id: "esc_1" } as const;
const call = { name: "pay", args: { usd: 5, to: { name: "ann", id: 1 } }, call_id: "call_1", session: "s" };

test("a call has one Idempotency-Key, in each order of its members and for each framework label of the user", async () => {
  const { gate, keys, submitted } = gateOf({ outcome: "approve" });
  await gate.ask(call);
  await gate.ask({ ...call, args: { to: { id: 1, name: "ann" }, usd: 5 } });
  expect(keys[0]).toMatch(/^call-[0-9a-f]{64}$/);
  expect(keys[1]).toBe(keys[0]);
  expect(submitted[0]).toMatchObject({
    intent: { agent: { id: "bot", framework: "test", session_id: "s" }, action: { verb: "pay" } },
    claim: "required",
  });
});

test.each([
  ["arguments", { args: { usd: 6 } }],
  ["name", { name: "refund" }],
  ["id", { call_id: "call_2" }],
  ["session", { session: "t" }],
])("another %s makes another Idempotency-Key", async (_, other) => {
  const { gate, keys } = gateOf({ outcome: "approve" });
  await gate.ask(call);
  await gate.ask({ ...call, ...other });
  expect(keys[1]).not.toBe(keys[0]);
});

test("another mode makes another key, and a call without an id has none", async () => {
  const [live, shadow] = [gateOf({ outcome: "approve" }), gateOf({ outcome: "approve" }, {}, { mode: "shadow" })];
  await live.gate.ask(call);
  await shadow.gate.ask(call);
  expect(shadow.keys[0]).not.toBe(live.keys[0]);
  await live.gate.ask({ ...call, call_id: undefined });
  expect(live.keys[1]).toBeUndefined();
});

const conflict = (details: ApiError["details"], code = "idempotency_conflict") =>
  new ApiError({ status: 409, code, message: "", details, request_id: null, retry_after_seconds: null });

test("a repeated call with other facts rests on the first decision; every other conflict is an error", async () => {
  const { gate, client } = gateOf({ outcome: "approve" }, { outcome: "block" });
  client.submitIntent.mockRejectedValueOnce(conflict([{ intent_id: "int_1" }]));
  expect(await gate.ask(call)).toMatchObject({ kind: "refused" });
  expect(client.getDecision).toHaveBeenCalledWith("int_1", { signal: undefined });
  for (const error of [conflict([]), conflict([{ intent_id: "int_1" }], "state_conflict")]) {
    client.submitIntent.mockRejectedValueOnce(error);
    await expect(gate.ask(call)).rejects.toBe(error);
  }
});

test("a refused call does not run; its text names the reason and asks for no repetition", async () => {
  const reasons = [{ policy: "p", message: "Too much." }] as unknown as Decision["reasons"];
  const { gate, observed } = gateOf({ outcome: "block", reasons });
  const execute = vi.fn();
  const answer = await gate.run(call, execute);
  expect(answer).toMatchObject({
    kind: "refused",
    text: expect.stringMatching(/p: Too much.*\nDo not repeat this call/),
  });
  expect(execute).not.toHaveBeenCalled();
  expect(observed).toEqual([{ status: "skipped" }]);
});

test("a call that was executed before is refused", async () => {
  const { gate, client } = gateOf({ outcome: "approve" });
  client.claimIntent.mockRejectedValue(conflict([{ execution: "executed" }], "already_claimed"));
  const execute = vi.fn();
  expect(await gate.run(call, execute)).toMatchObject({
    kind: "refused",
    text: expect.stringContaining("Already executed"),
  });
  expect(execute).not.toHaveBeenCalled();
});

test("an error of the tool is thrown, even if it is the refusal of a call inside the tool", async () => {
  const { gate, observed } = gateOf({ outcome: "approve" });
  const inner = gateOf({ outcome: "block" });
  const { carryOut } = await import("../index.ts");
  const submission = { intent: { agent: { id: "bot" }, action: { verb: "inner" } } };
  const run = gate.run(call, () => carryOut(inner.client, submission, () => null));
  await expect(run).rejects.toMatchObject({ name: "ActionBlocked" });
  expect(observed).toMatchObject([{ status: "failed" }]);
});

test("`suspend` returns the review and does not wait; `wait` waits and then runs", async () => {
  const heard = vi.fn();
  const suspending = gateOf(pending, pending, { review: "suspend", onPending: heard });
  const review = { intent_id: "int_1", escalation_id: "esc_1" };
  expect(await suspending.gate.run(call, () => 1)).toEqual({ kind: "suspended", review });
  expect(suspending.client.waitForOutcome).not.toHaveBeenCalled();
  expect(heard.mock.calls).toEqual([[review]]);
  const waiting = gateOf(pending, { outcome: "approve_modified", modified_content: { usd: 1 } }, { onPending: heard });
  const ran = await waiting.gate.run(call, ({ usd }) => usd);
  expect(ran).toEqual({ kind: "ran", result: 1, notes: [expect.stringContaining('It was made with: {"usd":1}')] });
  expect(heard).toHaveBeenCalledTimes(2);
});

test("a suspended call runs after its review, although the repeated submission still answers pending", async () => {
  const { gate, observed } = gateOf(
    pending,
    { outcome: "approve", message_to_agent: "Quickly." },
    { review: "suspend" },
  );
  const ran = await gate.run(call, () => "sent");
  expect(ran).toMatchObject({ result: "sent", notes: [expect.stringContaining("says to you: Quickly.")] });
  expect(textWithNotes("sent", ["a", "b"])).toBe("sent\n\na\n\nb");
  expect(observed).toEqual([{ status: "executed" }]);
});

test("an admitted call is claimed at once, and recorded when the framework reports its end", async () => {
  const { gate, client, observed } = gateOf({ outcome: "approve_modified", modified_content: { usd: 1 } });
  const first = await gate.admit(call);
  expect(first).toMatchObject({ kind: "admitted", args: { usd: 1 }, changed: true });
  expect(client.claimIntent).toHaveBeenCalledOnce();
  expect(observed).toEqual([]);
  if (first.kind === "admitted") first.failed("no money");
  await expect.poll(() => observed).toEqual([{ status: "failed", detail: "no money" }]);
  const second = await gate.admit(call);
  if (second.kind === "admitted") second.succeeded();
  await expect.poll(() => observed).toHaveLength(2);
  expect(observed[1]).toEqual({ status: "executed" });
});

test("a call that people approved says so, but not one that shadow mode did not hold, or that was executed", async () => {
  const approved = { outcome: "approve", verdict: "escalate", escalation_id: "esc_1" } as const;
  const reviewed = await gateOf({ ...approved, enforced: true }).gate.ask(call);
  expect(reviewed).toMatchObject({ reviewed: { intent_id: "int_1", escalation_id: "esc_1" } });
  const execution = { status: "executed", at: null, by: null } as const;
  for (const other of [{ enforced: false }, { enforced: true, execution }])
    expect(await gateOf({ ...approved, ...other }).gate.ask(call)).toMatchObject({ reviewed: null });
});

test("a tool that returns its result in parts fails", async () => {
  const { gate, observed } = gateOf({ outcome: "approve" });
  async function* parts() {
    yield 1;
  }
  await expect(gate.run(call, parts)).rejects.toThrow("pay returns its result in parts");
  expect(observed).toMatchObject([{ status: "failed" }]);
});

test("a skip that cannot be recorded is reported", async () => {
  const onUnrecorded = vi.fn();
  const { client } = gateOf({});
  const lost = new Error("lost");
  const deaf = { ...client, recordObservation: () => Promise.reject(lost) };
  createToolGate(deaf, "test", { agent: { id: "bot" }, onUnrecorded }).skip({ intent_id: "int_1" });
  await expect.poll(() => onUnrecorded.mock.calls).toEqual([[lost, "int_1"]]);
});
