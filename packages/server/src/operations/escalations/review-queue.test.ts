import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import type { Db } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { createReviewQueues } from "./review-queue.ts";

const { escalations_pending_per_agent_max: agentMax } = limits;
const soon = () => new Promise(setImmediate);

const rows = {
  org_id: "org_1",
  entry: { agent_id: "a", lineage_id: "key_1", mode: "live" },
  escalation: {},
  idempotency: null,
} as unknown as DecisionRows;

test.each([0, 50, agentMax - 3])(
  "1,300 at once into a queue of %i: the queue is filled exactly to its cap",
  async (already) => {
    let committed = already;
    const tenant = async () => {
      await soon();
      return { by_agent: Math.min(committed, agentMax), by_key: committed };
    };
    const queues = createReviewQueues({ tenant } as unknown as Db, { now_us: () => 1 });
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
  },
);

test("while the database hangs, waiting submissions are refused together after one timeout", async () => {
  let now_us = 1;
  let hangs = false;
  const counts: (() => void)[] = [];
  const tenant = async () => {
    if (hangs) {
      await new Promise<void>((resolve) => counts.push(resolve));
      throw new Error("Query read timeout");
    }
    return { by_agent: agentMax / 2, by_key: agentMax / 2 };
  };
  const queues = createReviewQueues({ tenant } as unknown as Db, { now_us: () => now_us });
  const commit = async () => {
    hangs = true;
    await soon();
  };
  const asked = Array.from({ length: 40 }, () => queues.enter(rows, commit).catch((error: Error) => error.message));
  while (counts.length === 0) await soon();
  now_us += 35_000_000;
  for (const end of counts.splice(0)) end();
  const outcomes = await Promise.all(asked);
  expect(outcomes.filter((each) => each === "overloaded")).toHaveLength(38);
  expect(outcomes).toContain("Query read timeout");
  expect(counts).toEqual([]);
});
