import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@countersign/sdk";
import pg from "pg";
import { attachEmbedded } from "../../packages/server/src/store/embedded-postgres/attach.ts";
import { testCertificates } from "../../packages/server/src/testing/network/certificates.ts";
import { startService } from "../http/service.ts";
import { median } from "../median.ts";
import type { ReceiverNote } from "./receiver.ts";

export type Stage = Awaited<ReturnType<typeof openStage>>;

/**
 * Starts the service from the build, on embedded PostgreSQL with fsync. Every attempt is claimed and settled, and has
 * an audit row.
 */
export async function openStage() {
  const directory = mkdtempSync(join(tmpdir(), "bench-webhooks-"));
  const { ca, good } = testCertificates();
  writeFileSync(join(directory, "ca.pem"), ca);
  const receiver = fork(join(import.meta.dirname, "receiver.ts"), { execArgv: process.execArgv });
  let note: ReceiverNote = { port: 0, received: 0, fast: 0, last_at_ms: 0, paths: {} };
  receiver.on("message", (message) => {
    note = message as ReceiverNote;
  });
  receiver.send(good);
  const data_dir = join(directory, "data");
  mkdirSync(data_dir);
  const server = await startService({
    data_dir,
    log: join(directory, "countersign.log"),
    env: {
      COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
      NODE_EXTRA_CA_CERTS: join(directory, "ca.pem"),
    },
  });
  const connection = await attachEmbedded(data_dir);
  if (connection === null) throw new Error("the service has no embedded database");
  const database = new pg.Client(connection);
  await database.connect();
  await database.query("set app.org = '*'");
  while (note.port === 0) await sleep(5);

  return {
    ca,
    server,
    receiver_pid: receiver.pid as number,
    database,
    note: () => note,
    origin: `https://127.0.0.1:${note.port}`,
    async organization() {
      const asked = { org_name: "Bench", email: `${randomUUID()}@example.com`, description: "Load." };
      const { api_key, org_id } = await createClient({ base_url: server.url }).quickstart(asked);
      return { org_id, client: createClient({ base_url: server.url, api_key }) };
    },
    async addEvents(org_id: string, count: number): Promise<void> {
      await database.query(
        `insert into events (org_id, event_id, event_type, body, created_at)
         select $1, $2 || to_char(n, '-FM000000000'), 'quota.exceeded', $3::json, clock_timestamp() from generate_series(1, $4::integer) n`,
        [org_id, `evt_${Date.now()}`, JSON.stringify(draftOf(org_id)), count],
      );
    },
    async close() {
      await database.end();
      await server.stop();
      receiver.disconnect();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Counts from the first arrival, because the service looks for events written without the API only once a second. */
export async function arrivals(stage: Stage, count: number, work: () => Promise<void>): Promise<number> {
  const before = stage.note().received;
  let first: { readonly at_ms: number; readonly received: number } | null = null;
  const working = work();
  while (stage.note().received < before + count) {
    const { received } = stage.note();
    if (first === null && received > before) first = { at_ms: Date.now(), received };
    await sleep(2);
  }
  await working;
  const { received, last_at_ms } = stage.note();
  const { at_ms, received: begun } = first ?? { at_ms: last_at_ms, received };
  return ((received - begun) / (last_at_ms - at_ms)) * 1_000;
}

/** An event of about the size of a decision's. */
export function draftOf(org_id: string) {
  return { data: { filler: "x".repeat(300) }, event_type: "quota.exceeded", organization_id: org_id };
}

/** No pack of the benchmark stops this intent. */
export const submission = { intent: { agent: { id: "a" }, action: { type: "communication.email", verb: "send" } } };

export interface Latency {
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Requests a decision every 20 ms, which does not load the service. */
export async function decisionLatency(
  client: Awaited<ReturnType<Stage["organization"]>>["client"],
  until: (asked: number) => boolean,
): Promise<Latency> {
  const taken: number[] = [];
  do {
    const begin = performance.now();
    await client.submitIntent(submission);
    taken.push(performance.now() - begin);
    await sleep(Math.max(20 - (performance.now() - begin), 0));
  } while (!until(taken.length));
  const sorted = [...taken].sort((a, b) => a - b);
  return { p50_ms: median(taken), p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
}
