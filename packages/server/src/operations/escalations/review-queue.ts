/**
 * What one agent may put into the reviewers' queue: so many actions that wait at once, and so many of one API key, whatever
 * agents it names. More are refused before anything is stored. docs/decisions/0011.
 *
 * While there is plenty of room submissions go side by side. The others go one after the other on a node, each counting
 * first, so a node never passes a cap; of several nodes each may pass it by the one that is on its way there.
 */
import { limits } from "@countersign/contract";
import { Fault, us_per_second } from "@countersign/core";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock, Db } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { countPendingReviews } from "../../store/escalations/escalations.ts";
import { isReplay } from "../shared/idempotent.ts";

/** The doors of one node to all review queues. */
export interface ReviewQueues {
  /** Runs `commit` where these rows open no review, or one that there is room for. Faults: review_queue_full, overloaded. */
  enter<T>(rows: DecisionRows, commit: (rows: DecisionRows) => Promise<T>): Promise<T>;
}

const { escalations_pending_per_agent_max: agentMax, escalations_pending_per_key_max: keyMax } = limits;
/** Plenty of room: several nodes that each let so much of a cap in side by side stay below it together. */
const roomy = 0.1;
/** So long a count serves, with what entered here since. */
const counted_for_us = us_per_second;
/**
 * How long one waits at a door for those in front: where the database hangs, each of them takes seconds, one after the other (of
 * 40 at once the last waited for 221 s).
 */
const patience_us = 10 * us_per_second;
const organizationsMax = 2_000;
const submittersMax = 20_000;

/** How one agent's or one key's part of a queue stands, as far as this node knows. */
interface Standing {
  readonly max: number;
  /** So many ever entered, and are on their way to the commit. */
  entered: number;
  under_way: number;
  /** The last count, of the database and of what was under way when it began. Null: none. */
  counted: { readonly at_us: number; readonly pending: number; readonly entered: number } | null;
}

/** Creates the doors. */
export function createReviewQueues(db: Db, clock: Clock): ReviewQueues {
  const doors = new LRUCache<string, LimitFunction>({ max: organizationsMax, memoMethod: () => pLimit(1) });
  const standings = new LRUCache<string, Standing>({ max: submittersMax });

  function standingOf(max: number, ...name: readonly (string | null)[]): Standing {
    const key = JSON.stringify(name);
    const known = standings.get(key);
    if (known !== undefined) return known;
    const made: Standing = { max, entered: 0, under_way: 0, counted: null };
    standings.set(key, made);
    return made;
  }

  /** The most that can be pending, this one included, is far below the cap. */
  function hasRoom({ counted, entered, max }: Standing): boolean {
    if (counted === null || clock.now_us() - counted.at_us > counted_for_us) return false;
    return counted.pending + entered - counted.entered < roomy * max;
  }

  /** Counts what is pending; true when a cap is reached. */
  async function count({ org_id, intent }: DecisionRows, agent: Standing, key: Standing): Promise<boolean> {
    const { agent_id, lineage_id, mode } = intent;
    const at_us = clock.now_us();
    const before = [agent, key].map(({ entered, under_way }) => ({ entered, under_way }));
    const { by_agent, by_key } = await db.tenant(org_id, (query) =>
      countPendingReviews(query, org_id, { agent_id, lineage_id, mode, agentMax, keyMax }),
    );
    for (const [n, standing] of [agent, key].entries()) {
      const { entered = 0, under_way = 0 } = before[n] ?? {};
      standing.counted = { at_us, pending: (n === 0 ? by_agent : by_key) + under_way, entered };
    }
    return by_agent >= agentMax || by_key >= keyMax;
  }

  /** As `enter`, for rows that open a review. */
  async function enterToWait<T>(rows: DecisionRows, commit: (rows: DecisionRows) => Promise<T>): Promise<T> {
    const { agent_id, lineage_id, mode } = rows.intent;
    const agent = standingOf(agentMax, rows.org_id, mode, "agent", agent_id);
    const key = standingOf(keyMax, rows.org_id, mode, "key", lineage_id);
    const both = [agent, key];
    for (const each of both) {
      each.entered += 1;
      each.under_way += 1;
    }
    try {
      if (both.every(hasRoom)) return await commit(rows);
      await count(rows, agent, key);
      if (both.every(hasRoom)) return await commit(rows);
      const came_us = clock.now_us();
      return await doors.memo(rows.org_id)(async () => {
        if (clock.now_us() - came_us > patience_us)
          throw new Fault("overloaded", { internal: "those in front at the door to the review queue take too long" });
        if ((await count(rows, agent, key)) && !(await isReplay(db, rows))) throw full(agent_id);
        return commit(rows);
      });
    } finally {
      for (const each of both) each.under_way -= 1;
    }
  }

  return {
    enter: (rows, commit) => (rows.escalation === null ? commit(rows) : enterToWait(rows, commit)),
  };
}

function full(agent_id: string): Fault {
  const message =
    `At most ${agentMax} actions of one agent and ${keyMax} of one API key wait for review at once; ` +
    "this one has as many. Wait until reviewers have decided some.";
  return new Fault("review_queue_full", {
    details: [{ path: "/intent/agent/id", code: "out_of_range", message, agent_id, pending_max: agentMax }],
  });
}
