/** One simulated node: a real commit writer whose statements wait at a gate for the scheduler. */

import type { Clock, Log, Timers } from "../packages/server/src/ports.ts";
import {
  type CommitWriter,
  type ConnectCommit,
  createCommitWriter,
} from "../packages/server/src/store/commit/commit-writer.ts";
import type { Epochs } from "../packages/server/src/store/organizations/epochs.ts";
import type { Random } from "./random.ts";

export type Fate =
  | "run"
  /** The connection is lost before the server gets the statement. */
  | "lost_before"
  | "lost_after"
  /** The server runs all calls, but every second answer is lost with the connection. */
  | "lost_some"
  | "deadlock"
  /** The statement runs while the server ends every session of the commit writers. */
  | "killed";

/** A statement that waits for the scheduler. `done` settles after its fate. */
export interface Gate {
  readonly node: SimNode;
  release(fate: Fate): Promise<void>;
}

export interface SimNode {
  readonly name: string;
  readonly writer: CommitWriter;
  /** The epochs of the node's decisions. Only a stale commit updates them. */
  readonly beliefs: Map<string, Epochs>;
  readonly gates: Gate[];
  /** Number of next session attempts that fail; 30 exceed every caller's timeout. */
  refusals: number;
  /** A dead process reaches nobody, and its answers are ignored. */
  dead: boolean;
}

export interface NodeSetting {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly connect: ConnectCommit;
  killSessions(): Promise<void>;
}

const lost = () => new Error("Connection terminated unexpectedly");

export function startNode(name: string, random: Random, setting: NodeSetting): SimNode {
  const gates: Gate[] = [];
  const connect: ConnectCommit = async () => {
    if (node.dead || node.refusals-- > 0)
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const session = await setting.connect();
    return { ...session, commit: (order) => atGate(() => session.commit(order), session.close) };
  };

  /** A process that dies while it opens a session never sends the statement. */
  function atGate(
    run: () => ReturnType<Awaited<ReturnType<ConnectCommit>>["commit"]>,
    close: () => void,
  ): ReturnType<typeof run> {
    if (node.dead) {
      close();
      return Promise.reject(lost());
    }
    return new Promise((resolve, reject) => {
      const gate: Gate = {
        node,
        async release(fate) {
          gates.splice(gates.indexOf(gate), 1);
          if (fate === "deadlock") {
            reject(Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" }));
          } else if (fate === "lost_before") {
            close();
            reject(lost());
          } else if (fate === "lost_after") {
            await run().catch(() => undefined);
            reject(lost());
          } else if (fate === "lost_some") {
            const settled = await run().catch(() => null);
            close();
            if (settled === null) reject(lost());
            else resolve(settled.map((each, n) => (n % 2 === 0 ? each : { status: "rejected", reason: lost() })));
          } else {
            const answered = run().then(resolve, reject);
            if (fate === "killed") await setting.killSessions();
            await answered;
          }
        },
      };
      gates.push(gate);
    });
  }

  const node: SimNode = {
    name,
    writer: createCommitWriter({
      ...setting,
      connect,
      lanes: random.chance(0.5) ? 3 : 1,
      batch_rows_max: random.pick([1, 3, 8]),
      batch_bytes_max: random.pick([6_000, 1_000_000]),
      queue_rows_max: random.pick([6, 40]),
    }),
    beliefs: new Map(),
    gates,
    refusals: 0,
    dead: false,
  };
  return node;
}
