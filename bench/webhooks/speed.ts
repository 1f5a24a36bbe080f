/**
 * Measures deliveries per second to fast HTTPS receivers with keep-alive, beside a bare undici loop with the same
 * bytes. Also measures processor time, and the latency of decisions during a drain.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { deliveryHeaders } from "@countersign/core";
import { Pool } from "undici";
import { cpuOf } from "../http/processes.ts";
import { median } from "../median.ts";
import { arrivals, decisionLatency, draftOf, type Latency, type Stage } from "./stage.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

/** Processor time of one delivery in microseconds. */
interface Cost {
  readonly sender: number;
  readonly database: number;
  readonly receiver: number;
}

interface Measured {
  /** Deliveries per second. */
  readonly rate: number;
  readonly cost: Cost;
}

interface Round {
  readonly idle: Latency;
  readonly bare: Measured;
  readonly alone: Measured;
  readonly watched: Measured & { readonly latency: Latency };
}

/** Requests in flight of the bare loop. */
const in_flight = 32;

export async function speed(stage: Stage, wanted: number, rounds_wanted: number, receivers: number) {
  const { org_id, client } = await stage.organization();
  const events = Math.ceil(wanted / receivers);
  const count = events * receivers;
  const register = (n: number) =>
    client.registerWebhook({ url: `${stage.origin}/hook/${n}`, event_types: ["quota.exceeded"] });
  const webhook = await register(0);
  for (let n = 1; n < receivers; n += 1) await register(n);
  const body = JSON.stringify({ ...draftOf(org_id), webhook_id: webhook.id });
  const own_ms = () => process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000;

  const bare = () => measure(stage, count, own_ms, () => bareLoop(stage, body, count));
  /** No other requests, so the delivery thread does not rest. */
  const alone = async () => {
    const add = () => stage.addEvents(org_id, events);
    return measure(stage, count, () => cpuOf(stage.server.pid).own_ms, add);
  };
  async function watched() {
    let done = false;
    const watching = decisionLatency(client, () => done);
    const measured = await alone();
    done = true;
    return { ...measured, latency: await watching };
  }

  const rounds: Round[] = [];
  await decisionLatency(client, (asked) => asked >= 100); // Warm-up.
  await alone();
  for (let round = 0; round < rounds_wanted; round += 1) {
    const idle = await decisionLatency(client, (asked) => asked >= 60);
    rounds.push({ idle, bare: await bare(), alone: await alone(), watched: await watched() });
    await sleep(500);
  }
  return figuresOf(rounds);
}

/** Runs `work` until the receiver has `count` more. */
async function measure(
  stage: Stage,
  count: number,
  sender_ms: () => number,
  work: () => Promise<void>,
): Promise<Measured> {
  const used = () => ({
    sender: sender_ms(),
    database: cpuOf(stage.server.pid).children_ms,
    receiver: cpuOf(stage.receiver_pid).own_ms,
  });
  const before = used();
  const rate = await arrivals(stage, count, work);
  const after = used();
  const each = (name: keyof Cost) => ((after[name] - before[name]) / count) * 1_000;
  return { rate, cost: { sender: each("sender"), database: each("database"), receiver: each("receiver") } };
}

async function bareLoop(stage: Stage, body: string, count: number): Promise<void> {
  const pool = new Pool(stage.origin, { connections: in_flight, connect: { ca: stage.ca } });
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const delivery = { delivery_id: "dlv_0123456789ABCDEFGHJKMNPQRS", event_type: "quota.exceeded", body };
      const headers = deliveryHeaders({ ...delivery, manual_retry: false }, secret, Date.now() * 1_000);
      const answer = await pool.request({ method: "POST", path: "/hook", headers, body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: in_flight }, lane));
  await pool.close();
}

function figuresOf(rounds: readonly Round[]) {
  const middle = (of: (round: Round) => number, digits = 0) => Number(median(rounds.map(of)).toFixed(digits));
  const sum = ({ sender, database, receiver }: Cost) => sender + database + receiver;
  return {
    bare_per_second: middle((round) => round.bare.rate),
    deliveries_per_second: middle((round) => round.alone.rate),
    ratio: middle((round) => round.alone.rate / round.bare.rate, 2),
    watched_per_second: middle((round) => round.watched.rate),
    watched_ratio: middle((round) => round.watched.rate / round.bare.rate, 2),
    bare_us: middle((round) => sum(round.bare.cost)),
    delivery_us: middle((round) => sum(round.alone.cost)),
    delivery_node_us: middle((round) => round.alone.cost.sender),
    delivery_postgres_us: middle((round) => round.alone.cost.database),
    delivery_receiver_us: middle((round) => round.alone.cost.receiver),
    api_idle_p50_ms: middle((round) => round.idle.p50_ms, 2),
    api_busy_p50_ms: middle((round) => round.watched.latency.p50_ms, 2),
    api_busy_p99_ms: middle((round) => round.watched.latency.p99_ms, 2),
    api_ratio: middle((round) => round.watched.latency.p50_ms / round.idle.p50_ms, 2),
  };
}
