/** One node: the real operations on a database connection that breaks at a drawn time. */
import { compilePolicySet } from "@countersign/core";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { createContextPauses } from "../../packages/server/src/operations/context/context-pauses.ts";
import { createContextPulls } from "../../packages/server/src/operations/context/context-pulls.ts";
import { isRegistered } from "../../packages/server/src/operations/context/context-source.ts";
import { createNodeCounters, type NodeCounters } from "../../packages/server/src/operations/counters/node-counters.ts";
import { createReviewQueues } from "../../packages/server/src/operations/escalations/review-queue.ts";
import { createDecisionLatencies } from "../../packages/server/src/operations/intents/decision-latencies.ts";
import type { Runtime } from "../../packages/server/src/operations/runtime.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import { createOrgStates } from "../../packages/server/src/operations/shared/org-state.ts";
import type { Clock, Db, HttpOut, Log, Query, Timers } from "../../packages/server/src/ports.ts";
import { type ConnectCommit, createCommitWriter } from "../../packages/server/src/store/commit/commit-writer.ts";

export interface PeopleSetting {
  readonly db: Db;
  readonly connect: ConnectCommit;
  readonly log: Log;
  readonly alter?: (text: string) => string;
  /** People also freeze and unfreeze the agent, its creator's key and the organization. */
  readonly freezes?: boolean;
  /** Policies change while reviews are open, and agents claim and withdraw. */
  readonly rulings?: boolean;
  readonly batch_rows_max?: number;
  /** Changes the node's memory of counters. */
  readonly counters?: (counters: NodeCounters) => NodeCounters;
}

export class Crash extends Error {}

export interface Node {
  readonly runtime: Runtime;
  /** Statements until the process dies; null: it lives. */
  readonly fate: { left: number | null };
}

/** A connection that dies before a statement, or between a commit and its answer. */
function shaky(db: Db, fate: Node["fate"], alter: (text: string) => string): Db {
  const due = () => fate.left !== null && fate.left-- <= 0;
  const wrap =
    (query: Query): Query =>
    async (text, params) => {
      if (due()) throw new Crash();
      return query(alter(text), params);
    };
  const ended = <T>(value: T): T => {
    if (due()) throw new Crash();
    return value;
  };
  return {
    tenant: async (org_id, work) => ended(await db.tenant(org_id, (query) => work(wrap(query)))),
    reading: async (org_id, wanted, work) => ended(await db.reading(org_id, wanted, (query) => work(wrap(query)))),
    system: async (work) => ended(await db.system((query) => work(wrap(query)))),
    queued: () => Promise.reject(new Error("this world delivers nothing")),
  };
}

/** For the pauses after lost connections. */
const withoutWaits: Timers = {
  after(_, run) {
    const immediate = setImmediate(run);
    return () => clearImmediate(immediate);
  },
};

const wallClock: Clock = { now_us: () => Date.now() * 1000 };

const metrics = {
  decided: () => undefined,
  decidedAgain: () => undefined,
  countersFull: () => undefined,
  contradicted: () => undefined,
  attempted: () => undefined,
  mailed: () => undefined,
  pulled: () => undefined,
};

export function startNode(setting: PeopleSetting, clock: Clock, httpOut: HttpOut): Node {
  const fate: Node["fate"] = { left: null };
  const db = shaky(setting.db, fate, setting.alter ?? ((text) => text));
  const timers = {
    after: (wait_ms: number, run: () => void) =>
      (
        (timer) => () =>
          clearTimeout(timer)
      )(setTimeout(run, wait_ms)),
  };
  const unused = {} as never;
  const ids = createIds(clock);
  const sealer = createSealer(Buffer.alloc(32, 1));
  const { log, batch_rows_max } = setting;
  const batches = batch_rows_max === undefined ? {} : { batch_rows_max };
  const reload = async (caller: Caller): Promise<Caller> => {
    const sql = "select auth_epoch from org_heads where org_id = $1";
    const [head] = await db.tenant(caller.org_id, (query) => query<{ auth_epoch: number }>(sql, [caller.org_id]));
    return { ...caller, auth_epoch: head?.auth_epoch ?? 0 };
  };
  const runtime: Runtime = {
    db,
    clock,
    clockWatch: { offset_s: () => 0, isFarOff: () => false },
    timers,
    ids,
    log,
    // Uses real time, because only calls advance the simulated time and a retry would never end.
    writer: createCommitWriter({ connect: setting.connect, log, clock: wallClock, timers: withoutWaits, ...batches }),
    counters: (setting.counters ?? ((counters) => counters))(createNodeCounters(db)),
    orgStates: createOrgStates(setting.db, async (_membrane, policies) => compilePolicySet({ policies, version: 1 })),
    callers: { reload, writeUses: async () => undefined },
    decisionReads: unused,
    waits: unused,
    reviewWaits: unused,
    contextPauses: createContextPauses(timers),
    agentTokens: { check: async () => ({ problem: "issuer_unknown" }) },
    pulls: createContextPulls({
      ...{ clock, ids, timers, log, sealer, httpOut, metrics },
      isRegistered: (org_id, source) => isRegistered(db, org_id, source),
    }),
    reviewQueues: createReviewQueues(db, clock),
    latencies: createDecisionLatencies(),
    figures: { decided: () => undefined, behind: () => 0, pass: async () => undefined },
    metrics,
    sealer,
    httpOut,
    txtRecords: unused,
    deliveries: { wake: () => undefined },
    passwords: unused,
    passkeys: unused,
    openId: unused,
    pushRequests: unused,
    streamFiles: null,
    mailer: unused,
    mails: { wake: () => undefined },
    rateWindows: unused,
    backtests: unused,
    settings: unused,
    refuseUnknownPacks: () => undefined,
    refuseUnknownRules: () => undefined,
    packRules: () => [],
  };
  return { runtime, fate };
}
