/**
 * Measures what a backtest costs concurrent decisions: the time of one decision at a steady rate, without and with a
 * backtest, in turn.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@countersign/sdk";
import type { OpenedDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { insertNewKey } from "../../packages/server/src/operations/keys/create-key.ts";
import { startService } from "../http/service.ts";
import { median } from "../median.ts";
import type { Past } from "./seed.ts";

const beats_idle = 1_000;

const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;

export async function besideKey({ db, ids }: OpenedDatabase, org_id: string): Promise<string> {
  const key = {
    org_id,
    name: "bench",
    environment: "live",
    scope: "org",
    role: "admin",
    agent_id: null,
    created_by: null,
    actor: "bench",
  } as const;
  const { api_key } = await db.tenant(org_id, (query) => insertNewKey({ ids }, query, key));
  return api_key;
}

/** Times in milliseconds. */
export async function beside(
  data_dir: string,
  api_key: string,
  { from, to }: Past,
  options: { readonly intents: number; readonly rounds: number; readonly beat_ms: number },
) {
  const { intents, beat_ms } = options;
  const server = await startService({ data_dir, log: join(data_dir, "..", "countersign.log") });
  try {
    const client = createClient({ base_url: server.url, api_key });
    const submission = { intent: { agent: { id: "a" }, action: { type: "communication.email", verb: "send" } } };

    /** Returns the times of decisions, one every beat, until `done`. */
    async function watch(done: (asked: number) => boolean): Promise<number[]> {
      const taken: number[] = [];
      do {
        const began = performance.now();
        await client.submitIntent(submission);
        taken.push(performance.now() - began);
        await sleep(Math.max(beat_ms - (performance.now() - began), 0));
      } while (!done(taken.length));
      return taken.sort((a, b) => a - b);
    }

    async function replay(): Promise<number> {
      const began = performance.now();
      const { evaluated, reproduced } = await client.backtest({ window: { from, to } });
      if (evaluated !== intents || reproduced !== 1) throw new Error(`${evaluated} of ${intents}, ${reproduced}`);
      return (intents / (performance.now() - began)) * 1_000;
    }

    await watch((asked) => asked >= 500); // Warm-up.
    await replay();
    const rounds: { idle: number[]; alone: number; busy: number[]; meanwhile: number }[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const idle = await watch((asked) => asked >= beats_idle);
      const alone = await replay();
      let done = false;
      const replaying = replay().finally(() => {
        done = true;
      });
      const busy = await watch(() => done);
      rounds.push({ idle, alone, busy, meanwhile: await replaying });
    }
    const middle = (of: (round: (typeof rounds)[number]) => number, digits = 2) =>
      Number(median(rounds.map(of)).toFixed(digits));
    return {
      intents,
      beat_ms,
      idle_p50_ms: middle(({ idle }) => at(idle, 0.5)),
      beside_p50_ms: middle(({ busy }) => at(busy, 0.5)),
      p50_ratio: middle(({ idle, busy }) => at(busy, 0.5) / at(idle, 0.5)),
      idle_p99_ms: middle(({ idle }) => at(idle, 0.99)),
      beside_p99_ms: middle(({ busy }) => at(busy, 0.99)),
      alone_per_second: middle(({ alone }) => alone, 0),
      beside_per_second: middle(({ meanwhile }) => meanwhile, 0),
    };
  } finally {
    await server.stop();
  }
}
