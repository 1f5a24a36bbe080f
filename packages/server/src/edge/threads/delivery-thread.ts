import { parentPort, workerData } from "node:worker_threads";
import { networkList } from "@countersign/core";
import type { Log } from "../../ports.ts";
import { openDb } from "../../store/database/db.ts";
import { startDeliveries } from "../../worker/deliveries/deliveries.ts";
import { createClock } from "../clock.ts";
import { createIds } from "../ids.ts";
import { plainError } from "../log.ts";
import { createHttpOut } from "../outgoing/http-out.ts";
import { standBack } from "../stand-back.ts";
import { createSealer } from "../start/sealer.ts";
import { timers } from "../timers.ts";
import type { DeliveryThreadData, DeliveryThreadHears, DeliveryThreadSays, LogLine } from "./delivery-thread-host.ts";
import { createGiveWay } from "./give-way.ts";

type Attempted = Extract<DeliveryThreadSays, { kind: "attempted" }>["attempts"][number];

function say(message: DeliveryThreadSays): void {
  parentPort?.postMessage(message);
}

/** Errors lose their codes and causes between threads. */
function plain(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainError(value)]));
}

const write = (level: LogLine["level"]) => (fields: object, message: string) =>
  say({ kind: "log", level, fields: plain(fields), message });
const log: Log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };

/** Sends one message for all attempts of a turn of the event loop. */
function attemptedBatches(): (status: Attempted[0], duration_ms: number) => void {
  let gathered: Attempted[] = [];
  return (status, duration_ms) => {
    if (gathered.push([status, duration_ms]) > 1) return;
    setImmediate(() => {
      say({ kind: "attempted", attempts: gathered });
      gathered = [];
    });
  };
}

/** Deliveries must keep up with decisions: under constant traffic they get half of the time. */
const manners = { recent_ms: 5, pause_ms: 1, share: 1 / 2, rest_ms_max: 20 };

function run({
  connection,
  allow_http,
  allow_cidrs,
  master_key,
  other_master_keys,
  terms,
  requests,
}: DeliveryThreadData): void {
  standBack();
  // The host cannot always read the error with which a thread ends.
  process.on("uncaughtExceptionMonitor", (error) => say({ kind: "failed", error: plainError(error) }));
  const clock = createClock();
  const db = openDb(connection, log, { tenant_sessions_max: 1, system_sessions_max: 1 });
  const httpOut = createHttpOut({ rules: { allow_http, allow_networks: networkList(allow_cidrs) } });
  const sealer = createSealer(master_key, other_master_keys);
  const metrics = { attempted: attemptedBatches() };
  const deliveries = startDeliveries(
    {
      timers,
      db,
      ids: createIds(clock),
      clock,
      metrics,
      log,
      sealer,
      httpOut,
      giveWay: createGiveWay(requests, manners),
    },
    terms,
  );

  async function stop(): Promise<void> {
    await deliveries.stop();
    await httpOut.close();
    await db.close();
    // The last message about attempts follows in the next turn.
    setImmediate(() => parentPort?.close());
  }

  parentPort?.on("message", (message: DeliveryThreadHears) => {
    if (message.kind === "stop") return void stop();
    for (const org_id of message.events) deliveries.wake(org_id, "events");
    for (const org_id of message.retries) deliveries.wake(org_id, "retries");
  });
}

run(workerData as DeliveryThreadData);
