/** A whole node: real operations, real packs, real commit writer. */
import { publicHttpsOnly } from "@countersign/core";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { assembleNode, type NodeParts, type ServiceNode } from "../../edge/node.ts";
import { createHttpOut } from "../../edge/outgoing/http-out.ts";
import { loadPacks } from "../../edge/start/pack-files.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import { timers } from "../../edge/timers.ts";
import type { TestDatabase } from "../database/database.ts";
import { cheapPasswords } from "../people/passwords.ts";
import { whenFileIsDone } from "../when-file-is-done.ts";
import { builtThread } from "./built-thread.ts";
import { silentLog } from "./silent-log.ts";

const roomy = {
  intents: 1_000_000,
  general: 1_000_000,
  onboarding: 1_000_000,
  backtest: 1_000_000,
  authentication: 1_000_000,
};

const backtestThread = builtThread("backtest-thread");

/** Treats the node's clock as the database's. */
const clockInStep = { offset_s: () => 0, isFarOff: () => false, stop: async () => undefined };

let packs: ReturnType<typeof loadPacks> | undefined;

export function sharedPacks(): ReturnType<typeof loadPacks> {
  packs ??= loadPacks();
  return packs;
}

/** Runs until the file's tests are done. Rate limits are high unless given. */
export async function serviceNode(
  { db, connection }: TestDatabase,
  parts: Partial<Omit<NodeParts, "config">> & { readonly config?: Partial<NodeParts["config"]> } = {},
): Promise<ServiceNode & { readonly url: string }> {
  const clock = parts.clock ?? createClock();
  const node = await assembleNode({
    db,
    connection,
    clock,
    ids: createIds(clock),
    timers,
    log: silentLog,
    spans: null,
    sealer: createSealer(Buffer.alloc(32, 7)),
    packs: await sharedPacks(),
    httpOut: createHttpOut({ rules: publicHttpsOnly }),
    txtRecords: { read: async () => [] },
    passwords: cheapPasswords(),
    mailer: { delivers: true, send: async () => undefined },
    ...(backtestThread === undefined ? {} : { backtestThread }),
    ...(parts.clock === undefined ? {} : { clockWatch: clockInStep }),
    ...parts,
    config: {
      signup: "open",
      authzen: "record",
      rate_limits: roomy,
      trust_proxy: [],
      metrics_token: null,
      redis_url: null,
      public_url: null,
      deliveries_kept_days: 30,
      log_witnesses: [],
      stream_dir: null,
      ...parts.config,
    },
  });
  let closed: Promise<void> | undefined;
  const close = (drain_ms?: number) => (closed ??= node.close(drain_ms));
  whenFileIsDone(close);
  const url = await node.app.listen({ host: "127.0.0.1", port: 0 });
  return { ...node, close, url };
}
