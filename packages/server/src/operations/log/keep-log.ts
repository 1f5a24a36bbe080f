/**
 * Keeps each organization's log: adds new entries of the ledger to the tree, and signs a checkpoint. Runs outside of
 * the commit, on every node; a lock on the log's row lets one node at a time work. See docs/decisions/0063.
 */
import { checkpointText, emptyRoot, formatTimestampUs, signNote } from "@countersign/core";
import type { Db, Log, Query } from "../../ports.ts";
import { insertLogKey } from "../../store/log/log-keys.ts";
import {
  createLog,
  type LogProblem,
  type LogProgress,
  lockLog,
  readLogPage,
  saveProblem,
} from "../../store/log/log-state.ts";
import type { LogKeeper } from "../shared/node-services.ts";
import { extendLog, isOlder, type KnownHead } from "./extend-log.ts";
import { newLogKey, type Signing } from "./log-signing.ts";

export type LogKeeping = Signing & { readonly db: Pick<Db, "system" | "tenant">; readonly log: Log } & {
  /** First part of new origins: a host name. */
  readonly logName: () => string;
};

const looked_up_max = 1_000;
/** With more organizations, the search for work takes several passes. */
const look_ups_max = 5;
/** A pass adds one page for each organization, then this many more for those with a backlog. */
const more_pages_max = 8;
const pages_between_messages = 25;

const problemTexts = {
  shrunk:
    "no checkpoint is signed, because entries under an earlier checkpoint are missing: the database lost data or is an older copy",
  changed: "no checkpoint is signed, because entries under an earlier checkpoint were changed in the database",
} as const satisfies Record<LogProblem, string>;

type Turn = { readonly more: boolean; readonly problem: LogProblem | null; readonly head: KnownHead | null };

/** `page_entries`: entries to add in one transaction. */
export function createLogKeeper(runtime: LogKeeping, page_entries = 4_096): LogKeeper {
  /** The newest checkpoint that this node signed or saw at its turn. */
  const known = new Map<string, KnownHead>();
  const failures = createFailures(runtime.log);
  const behind = new Map<string, number>();
  let after = "";
  let pages = 0;

  async function lookUp(): Promise<void> {
    for (let n = 0; n < look_ups_max; n += 1) {
      const page = await runtime.db.system((query) => readLogPage(query, after, looked_up_max));
      for (const each of page) note(each);
      after = page.length < looked_up_max ? "" : (page.at(-1)?.org_id ?? "");
      if (after === "") return;
    }
  }

  function note({ org_id, head_seq, seq, size, root, problem }: LogProgress): void {
    const seen = known.get(org_id);
    if (head_seq === seq && problem === null && (seen === undefined || !isOlder({ size, root }, seen)))
      behind.delete(org_id);
    else behind.set(org_id, Math.max(0, head_seq - (seq ?? 0)));
  }

  /** Returns whether more entries wait. Never rejects, so that others get their turn. */
  async function takeTurn(org_id: string): Promise<boolean> {
    try {
      const turn = await runtime.db.tenant(org_id, (query) => work(query, org_id));
      if (turn.head !== null) known.set(org_id, turn.head);
      failures.report(org_id, turn.problem === null ? null : problemTexts[turn.problem]);
      if (!turn.more && turn.problem === null) behind.delete(org_id);
      return turn.more;
    } catch (error) {
      failures.report(org_id, `the log could not be kept: ${error instanceof Error ? error.message : "unknown error"}`);
      return false;
    }
  }

  async function work(query: Query, org_id: string): Promise<Turn> {
    const log = await lockLog(query, org_id);
    if (log === null) return { more: await beginLog(runtime, query, org_id), problem: null, head: null };
    const found = await extendLog(runtime, query, org_id, log, { known: known.get(org_id) ?? null, page_entries });
    if ("head" in found) return { ...found, problem: null };
    if (found.problem !== log.problem) await saveProblem(query, org_id, found.problem);
    return { more: false, problem: found.problem, head: null };
  }

  return {
    behind: () => [...behind.values()].reduce((sum, records) => sum + records, 0),
    failing: failures.count,
    async pass(stopped) {
      await lookUp();
      const backlog: string[] = [];
      for (const org_id of behind.keys()) {
        if (stopped()) return;
        if (await takeTurn(org_id)) backlog.push(org_id);
      }
      for (let n = 0; n < more_pages_max && !stopped(); n += 1) {
        const org_id = backlog.shift();
        if (org_id === undefined) return;
        if (!(await takeTurn(org_id))) continue;
        backlog.push(org_id);
        pages += 1;
        const fields = { org_id, entries: known.get(org_id)?.size, records_left: behind.get(org_id) };
        if (pages % pages_between_messages === 1) runtime.log.info(fields, "the log takes up earlier entries");
      }
    },
  };
}

/** Reports each change once. */
function createFailures(log: Log) {
  const reported = new Map<string, string>();
  return {
    count: () => reported.size,
    report(org_id: string, failure: string | null): void {
      if (failure === (reported.get(org_id) ?? null)) return;
      if (failure === null) {
        reported.delete(org_id);
        log.info({ org_id }, "checkpoints are signed again");
      } else {
        reported.set(org_id, failure);
        log.error({ org_id }, failure);
      }
    },
  };
}

/** Creates the log with a key and the checkpoint of the empty tree. Returns false if another node holds the log. */
async function beginLog(runtime: LogKeeping, query: Query, org_id: string): Promise<boolean> {
  const checkpoint = { origin: `${runtime.logName()}/${org_id}`, size: 0, root: emptyRoot };
  const signed_at = formatTimestampUs(runtime.clock.now_us());
  const signer = newLogKey(runtime, org_id, checkpoint.origin);
  const note = signNote(checkpointText(checkpoint), [signer]);
  if (!(await createLog(query, org_id, { ...checkpoint, note, signed_at }))) return false;
  await insertLogKey(query, org_id, signer.key);
  return true;
}
