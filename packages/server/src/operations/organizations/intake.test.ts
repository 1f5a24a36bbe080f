import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Runtime } from "../runtime.ts";
import { recommend } from "./intake.ts";

test("reads one tool at a time, in turns with the node's other work", async () => {
  const runtime = {
    clock: { now_us: () => 0 },
    ids: { next: () => "ink_1" },
    db: { system: async () => undefined },
  } as unknown as Runtime;
  const tools = Array.from({ length: 50 }, (_, n) => ({ name: `send_email_${n}` }));
  let turns = 0;
  let over = false;
  const others = (async () => {
    for (; !over; turns += 1) await setImmediate();
  })();
  const { action_catalogue } = await recommend(runtime, { description: "an agent", tools });
  over = true;
  await others;
  expect(action_catalogue).toHaveLength(50);
  expect(turns).toBeGreaterThanOrEqual(50);
});
