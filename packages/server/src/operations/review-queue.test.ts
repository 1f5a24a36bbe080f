/** The door to a review queue under a burst, with a database that counts what was committed. */
import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import type { Db } from "../ports.ts";
import type { DecisionRows } from "../store/commit-writer-rows.ts";
import { createReviewQueues } from "./review-queue.ts";

const { escalations_pending_per_agent_max: agentMax } = limits;
const soon = () => new Promise(setImmediate);

test.each([0, 50, agentMax - 3])("1,300 at once into a queue of %i: exactly as many enter as may", async (already) => {
  let committed = already;
  const tenant = async () => {
    await soon();
    return { by_agent: Math.min(committed, agentMax), by_key: committed };
  };
  const queues = createReviewQueues({ tenant } as unknown as Db, { now_us: () => 1 });
  const rows = {
    org_id: "org_1",
    intent: { agent_id: "a", lineage_id: "key_1", mode: "live" },
    escalation: {},
    idempotency: null,
  } as unknown as DecisionRows;
  const commit = async () => {
    await soon();
    await soon();
    committed += 1;
  };
  const outcomes = await Promise.all(
    Array.from({ length: 1_300 }, () =>
      queues.enter(rows, commit).then(
        () => "entered",
        (error: { code: string }) => error.code,
      ),
    ),
  );
  expect(committed).toBe(agentMax);
  expect(outcomes.filter((each) => each === "entered")).toHaveLength(agentMax - already);
  expect(new Set(outcomes)).toEqual(new Set(["entered", "review_queue_full"]));
});
