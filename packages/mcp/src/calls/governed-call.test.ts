import { ApiError } from "@countersign/sdk";
import { expect, test } from "vitest";
import { callOf, governed, soon } from "../testing/governed.ts";

test("does not repeat a claimed call, and tells the model why in plain words", async () => {
  const details = [{ execution: "claimed", claimed_at: "2026-11-28T12:00:00.000000Z", claimed_by: { id: "key_1" } }];
  const fields = { status: 409, code: "already_claimed", message: "claimed", details };
  const claimIntent = () => Promise.reject(new ApiError({ ...fields, request_id: null, retry_after_seconds: null }));
  const observed: unknown[] = [];
  const client = {
    submitIntent: async () =>
      ({ intent_id: "int_1", decision: { intent_id: "int_1", outcome: "approve", status: "final" } }) as never,
    getDecision: async () => ({}) as never,
    waitForOutcome: async () => ({}) as never,
    claimIntent,
    recordObservation: async (_: string, observation: unknown) => observed.push(observation) as never,
    withdrawEscalation: async () => ({}) as never,
  };
  const { governor, toServer, toClient } = governed(undefined, { client });
  governor.fromClient(callOf(1));
  await soon(() => expect(toClient).toHaveLength(1));
  const { result } = JSON.parse(toClient[0] ?? "");
  expect([result.isError, result.content[0].text]).toEqual([
    true,
    "Claimed before, outcome unknown. It was claimed at 2026-11-28T12:00:00.000000Z by key_1. It was not repeated. Find out whether it was executed before you submit it again. (int_1)",
  ]);
  expect([toServer, observed]).toEqual([[], []]);
});
