import { expect, test } from "vitest";
import { candidateOf } from "./backtest-candidate.ts";

test("searches unknown names one by one, in turns with the node's other work", async () => {
  let turns = 0;
  let over = false;
  const countTurn = () => {
    turns += 1;
    if (!over) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const none = async () => [] as never;
  const db = { tenant: none, reading: none, system: none, queued: none };
  const runtime = { db, packs: new Map(), refuseUnknownPacks: () => undefined };
  const without = Array.from({ length: 20 }, (_, n) => `none.${n}`);
  await expect(candidateOf(runtime, "org_a", { without })).rejects.toMatchObject({ code: "invalid_request" });
  over = true;
  expect(turns).toBeGreaterThanOrEqual(20);
});
