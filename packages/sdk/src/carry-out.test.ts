/** See docs/decisions/0036-claims.md. */
import { expect, test, vi } from "vitest";
import { ApiError, carryOut, createGuard } from "./index.ts";
import { answering, decided } from "./testing/answering.ts";

const refusal = (code: string, details: object[]) => {
  const fields = { status: 409, code, message: code, details: details as never, request_id: null };
  return new ApiError({ ...fields, retry_after_seconds: null });
};
const claimed_at = "2026-11-28T12:00:00.000000Z";
const claimed_by = { type: "key", id: "key_1" };
const submission = { intent: { agent: { id: "bot" }, action: { verb: "pay" } } };

test("an action is claimed before it runs, each time with a new nonce", async () => {
  const { client } = answering({ outcome: "approve" });
  const run = vi.fn(() => expect(client.claimIntent).toHaveBeenCalled());
  for (let n = 0; n < 2; n += 1) await carryOut(client, submission, run);
  const nonces = client.claimIntent.mock.calls.map(([intent_id, nonce]) => `${intent_id} ${nonce}`);
  expect([run.mock.calls.length, new Set(nonces).size]).toEqual([2, 2]);
});

test("an action that was already executed does not run again: its result is that of `onDoneBefore`, or undefined", async () => {
  const { client } = answering({ outcome: "approve" });
  client.claimIntent.mockRejectedValue(refusal("already_claimed", [{ execution: "executed", claimed_at, claimed_by }]));
  const run = vi.fn(() => "done");
  expect(await carryOut(client, submission, run)).toBeUndefined();
  expect(await carryOut(client, submission, run, { onDoneBefore: ({ at }) => `at ${at}` })).toBe(`at ${claimed_at}`);
  await expect(createGuard(client, { agent: { id: "bot" } }).fn("pay", run)({})).rejects.toThrow(
    "Already executed; its result is not known here.",
  );
  expect(run).not.toHaveBeenCalled();
});

test("an action that current rules block, or without an answer to its claim, does not run and is recorded as skipped", async () => {
  const { client, observed } = answering({ outcome: "approve" });
  const run = vi.fn();
  client.claimIntent.mockRejectedValueOnce(refusal("blocked_now", [{ policy: "no-payments", message: "Not today." }]));
  await expect(carryOut(client, submission, run)).rejects.toThrow(
    "Blocked, nothing was done. It was approved, but is blocked now. no-payments: Not today. (int_1)",
  );
  const away = new Error("away");
  client.claimIntent.mockRejectedValueOnce(away);
  await expect(carryOut(client, submission, run)).rejects.toBe(away);
  const ending = new AbortController();
  client.claimIntent.mockImplementationOnce(async () => {
    ending.abort();
    return decided({ outcome: "approve" });
  });
  await expect(carryOut(client, submission, run, { signal: ending.signal })).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(observed).toEqual([{ status: "skipped" }, { status: "skipped" }, { status: "skipped" }]);
  expect(run).not.toHaveBeenCalled();
});

test("an action that goes on after its result is not recorded: the caller does that at its end", async () => {
  const { client, observed } = answering({ outcome: "approve" });
  const goesOn = (result: string) => result === "job 7";
  expect(await carryOut(client, submission, () => "job 7", { goesOn })).toBe("job 7");
  expect(await carryOut(client, submission, () => "done", { goesOn })).toBe("done");
  expect(observed).toEqual([{ status: "executed" }]);
});
