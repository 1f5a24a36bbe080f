import { performance } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { Fault } from "@countersign/core";
import type { Turn } from "../../operations/backtests/replay-needs.ts";
import { replayRecorded } from "../../operations/backtests/replay-recorded.ts";
import { isConnectionLost } from "../../store/database/connection.ts";
import { openDb } from "../../store/database/db.ts";
import { standBack } from "../stand-back.ts";
import type { ThreadData, ThreadSays } from "./backtest-run.ts";
import { createGiveWay } from "./give-way.ts";

const progress_ms = 200;
/** A page takes the database about 10 ms, and a decision may wait for it. Smaller while the node gets requests. */
const page_rows = 1_000;
const page_rows_beside = 200;
/** A backtest has the lowest priority. */
const manners = { recent_ms: 10, pause_ms: 5, share: 1 / 8, rest_ms_max: 1_000 };
const quiet = () => undefined;

function say(message: ThreadSays): void {
  parentPort?.postMessage(message);
}

/** Receives turns to read from the previous thread, and passes them to the next. */
function ring({ inbox, outbox, first }: Pick<ThreadData, "inbox" | "outbox" | "first">) {
  const arrived: Turn[] = first === null ? [] : [first];
  let wake: () => void = quiet;
  inbox.on("message", (turn: Turn) => {
    arrived.push(turn);
    wake();
  });
  return {
    async turn(): Promise<Turn> {
      for (let turn = arrived.shift(); ; turn = arrived.shift()) {
        if (turn !== undefined) return turn;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    pass: (turn: Turn) => outbox.postMessage(turn),
    close() {
      inbox.close();
      outbox.close();
    },
  };
}

async function work({ job, connection, replicas, packs, requests, ...ports }: ThreadData): Promise<void> {
  // Two sessions, because a page is read together with the previous page's overrides. A long wait, because this thread
  // hardly runs on a busy machine.
  const db = openDb(
    connection,
    { debug: quiet, info: quiet, warn: quiet, error: quiet },
    { tenant_sessions_max: 4, system_sessions_max: 1, acquire_timeout_ms: 30_000, replicas },
  );
  const { turn, pass, close } = ring(ports);
  const giveWay = createGiveWay(requests, manners);
  let told_ms = performance.now();
  try {
    const part = await replayRecorded(
      {
        read: (run) => db.reading(job.org_id, { seq: job.filter.seq }, run),
        packs: new Map(packs),
        turn,
        pass,
        pageRows: () => (giveWay.asked() ? page_rows_beside : page_rows),
        async progress(evaluated, done) {
          await giveWay.rest();
          const now_ms = performance.now();
          if (now_ms - told_ms < progress_ms) return;
          told_ms = now_ms;
          say({ kind: "progress", evaluated, done });
        },
      },
      job,
    );
    say({ kind: "part", part });
  } catch (error) {
    if (error instanceof Fault) return say({ kind: "refused", code: error.code, details: error.details });
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say({ kind: "failed", lost: isConnectionLost(error), text });
  } finally {
    close();
    await db.close();
  }
}

standBack();
await work(workerData as ThreadData);
