/** A thread of one backtest: its own session with the database, and nothing else of the service. */
import { performance } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { replayRecorded, type Turn } from "../../operations/backtests/replay-recorded.ts";
import { isConnectionLost } from "../../store/database/connection.ts";
import { openDb } from "../../store/database/db.ts";
import { standBack } from "../stand-back.ts";
import type { ThreadData, ThreadSays } from "./backtest-run.ts";
import { createGiveWay } from "./give-way.ts";

const progress_ms = 200;
/** A page takes the database about 10 ms: while the node is asked, decisions would wait for that, and pages are smaller. */
const page_rows = 1_000;
const page_rows_beside = 200;
/** Nobody waits for a backtest. */
const manners = { recent_ms: 10, pause_ms: 5, share: 1 / 8, rest_ms_max: 1_000 };
const quiet = () => undefined;

function say(message: ThreadSays): void {
  parentPort?.postMessage(message);
}

/** Turns to read, as they come from the thread before this one in the ring and go to the one after it. */
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
  // One page is read while the other's overrides are: two sessions, which one organization has of four. The statement's time
  // limit is that of every other statement. A session may come late: on a busy machine this thread hardly runs, as it stands back.
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
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say({ kind: "failed", lost: isConnectionLost(error), text });
  } finally {
    close();
    await db.close();
  }
}

standBack();
await work(workerData as ThreadData);
