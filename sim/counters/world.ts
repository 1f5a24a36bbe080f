/**
 * Simulates counters: nodes on a real database, one organization whose policies limit what an agent may do in an hour
 * and on a day. Connections are lost during commits, processes die between two statements, and clocks jump to the ends
 * of windows.
 *
 * One seed draws everything but the winners of races.
 */
import { Fault } from "@countersign/core";
import type { Clock, Db } from "../../packages/server/src/ports.ts";
import type { ConnectCommit } from "../../packages/server/src/store/commit/commit-writer.ts";
import { InvariantBroken } from "../invariants.ts";
import { Crash, type Node, type PeopleSetting, startNode } from "../people/node.ts";
import { createRandom, type Random } from "../random.ts";
import { Acts } from "./acts.ts";
import { type CountersCast, prepareCounters } from "./cast.ts";
import { onSimClock, setSimClock } from "./clock.ts";
import { type CountersMemory, checkCounters, checkTrail } from "./invariants.ts";
import { type Fate, losingConnections } from "./losses.ts";

export interface CountersSetting extends Omit<PeopleSetting, "connect" | "freezes" | "rulings"> {
  /** Commits with a function that uses the simulated clock. */
  readonly connect: ConnectCommit;
  /** A planted fault: reports of an agent's key count as those of a host's key. */
  readonly trusts_agents?: boolean;
}

export type CountersResult =
  | { readonly sound: true; readonly told: Readonly<Record<string, number>>; readonly trace: readonly string[] }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

export interface CountersNode extends Node {
  /** Of the next commits of this node. */
  readonly fates: Fate[];
  /** How far its clock is from the database's. */
  readonly skew_us: number;
  /** Reads of the clock in this act. */
  clock_reads: number;
}

export interface CountersWorld {
  readonly db: Db;
  readonly random: Random;
  readonly cast: CountersCast;
  readonly nodes: CountersNode[];
  readonly memory: CountersMemory;
  readonly trusts_agents: boolean;
  /** Makes a statement use the simulated clock. */
  alter(text: string): string;
  now_us(): number;
  /** Sets the time of the database and, with their skews, of all nodes. */
  setTime(now_us: number): Promise<void>;
  restart(place: number): Promise<void>;
  outcome(node: CountersNode, work: () => Promise<string>): Promise<string>;
}

/** Before the ends of a day in Berlin: an ordinary one, and one of 25 hours. */
const starts = ["2026-11-20T21:20:00Z", "2026-10-24T20:40:00Z", "2026-10-25T22:30:00Z"];
/** An act reads the clock some hundred times, and the clock does not move. */
const clock_reads_max = 2_000;
/** A node whose clock is off by 300 s decides nothing. */
const skews_us_max = [0, 2_000_000, 200_000_000];

export async function runCounters(seed: number, setting: CountersSetting, steps = 10): Promise<CountersResult> {
  const random = createRandom(seed);
  let now_us = Date.parse(random.pick(starts)) * 1000 + random.below(1_000_000);
  const nodes: CountersNode[] = [];
  const start = (): CountersNode => startCountersNode(setting, random, () => now_us);
  for (let n = 0; n < 3; n++) nodes.push(start());
  const trace: string[] = [];
  const told: Record<string, number> = {};
  let step = 0;
  let org_id = "";
  try {
    await setSimClock(setting.db, now_us);
    const cast = await prepareCounters(setting.db, (nodes[0] as Node).runtime);
    org_id = cast.org_id;
    const world: CountersWorld = {
      ...{ db: setting.db, random, cast, nodes, memory: memoryOf(cast), trusts_agents: setting.trusts_agents === true },
      alter: altering(setting),
      now_us: () => now_us,
      async setTime(to_us) {
        now_us = to_us;
        await setSimClock(setting.db, now_us);
      },
      async restart(place) {
        await nodes[place]?.runtime.writer.close();
        nodes[place] = start();
      },
      async outcome(node, work) {
        const word = await outcomeOf(node, work);
        told[word] = (told[word] ?? 0) + 1;
        return word;
      },
    };
    const acts = new Acts(world);
    for (; step < steps; step++) {
      for (let n = 0; n < 3; n++) trace.push(await acts.act());
      await checkCounters(setting.db, cast.org_id, world.memory);
    }
    await checkTrail(setting.db, cast.org_id);
    return { sound: true, told, trace };
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    return { sound: false, step, problem: error.message, trace };
  } finally {
    await Promise.all(nodes.map((node) => node.runtime.writer.close()));
    await closeReviews(setting.db, org_id);
  }
}

function startCountersNode(setting: CountersSetting, random: Random, time: () => number): CountersNode {
  const fates: Fate[] = [];
  const skew_us_max = random.pick(skews_us_max);
  const node = { fates, skew_us: random.below(2 * skew_us_max + 1) - skew_us_max, clock_reads: 0 };
  const clock: Clock = {
    now_us() {
      if (node.clock_reads++ > clock_reads_max) throw new InvariantBroken("an operation does not end");
      return time() + node.skew_us;
    },
  };
  const alter = altering(setting);
  const connect = losingConnections(setting.connect, fates);
  const made = startNode({ ...setting, connect, alter, batch_rows_max: random.pick([1, 2, 64]) }, clock, {
    check: async (href) => ({ href }),
    post: noPost,
    ask: async () => ({ failed: "unreachable", text: "none" }),
  });
  return Object.assign(node, made);
}

function altering(setting: CountersSetting): (text: string) => string {
  return (text) => onSimClock(setting.alter?.(text) ?? text);
}

const noPost = async () => ({ response_status: null, error: "not simulated", duration_ms: 0 });

function memoryOf({ operators, submitters }: CountersCast): CountersMemory {
  const keys = (callers: readonly { readonly key_id: string | null }[]) =>
    new Set(callers.map(({ key_id }) => key_id ?? ""));
  const trusted = { operators: keys(operators), hosts: keys([submitters.host]) };
  return { trusted, sent: 0, answered: new Set(), seen: new Map(), deleted_us: 0 };
}

/** Returns an outcome in a word. Anything but an answer, a refusal or a crash is a bug. */
async function outcomeOf(node: CountersNode, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    if (error instanceof Crash) return "crashed";
    if (error instanceof InvariantBroken) throw error;
    if (String(error).includes("the database refuses this row set"))
      throw new InvariantBroken("a decision was stored twice or cannot be stored");
    throw new InvariantBroken(`an operation failed: ${String(error)}`);
  } finally {
    node.fate.left = null;
  }
}

/** Later worlds would time the open reviews of this one out. */
async function closeReviews(db: Db, org_id: string): Promise<void> {
  const sql = "update escalations set expires_at = 'infinity' where org_id = $1 and status = 'pending'";
  await db.tenant(org_id, (query) => query(sql, [org_id]));
}
