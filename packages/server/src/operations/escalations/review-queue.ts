/**
 * Caps how many actions of one agent, and of one API key, may wait for review. See docs/decisions/0011.
 *
 * Far below the caps, submissions enter concurrently. Near a cap they enter one by one, and each counts first. So one
 * node never exceeds a cap; each further node may exceed it by one.
 */

import { limits } from "@countersign/contract";
import { Fault, us_per_second } from "@countersign/core";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock, Db } from "../../ports.ts";
import type { DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { countPendingReviews } from "../../store/escalations/escalations.ts";
import { isReplay } from "../shared/idempotent.ts";
import type { ReviewQueues } from "../shared/node-services.ts";

const { escalations_pending_per_agent_max: agentMax, escalations_pending_per_key_max: keyMax } = limits;
/** Share of a cap below which submissions enter concurrently. Small, because several nodes may do so. */
const roomy = 0.1;
const counted_for_us = us_per_second;
/** How long a submission waits for its turn. While the database hangs, each turn takes seconds. */
const patience_us = 10 * us_per_second;
const organizations_max = 2_000;
const submitters_max = 20_000;

interface Standing {
  readonly max: number;
  entered: number;
  under_way: number;
  /** The last count: reviews pending in the database or under way. Null: none. */
  counted: { readonly at_us: number; readonly pending: number; readonly entered: number } | null;
}

export function createReviewQueues(db: Db, clock: Clock): ReviewQueues {
  const turns = new LRUCache<string, LimitFunction>({ max: organizations_max, memoMethod: () => pLimit(1) });
  const standings = new LRUCache<string, Standing>({ max: submitters_max });

  function standingOf(max: number, ...name: readonly (string | null)[]): Standing {
    const key = JSON.stringify(name);
    const known = standings.get(key);
    if (known !== undefined) return known;
    const made: Standing = { max, entered: 0, under_way: 0, counted: null };
    standings.set(key, made);
    return made;
  }

  /** Returns true if the queue is certainly far below the cap. */
  function hasRoom({ counted, entered, max }: Standing): boolean {
    if (counted === null || clock.now_us() - counted.at_us > counted_for_us) return false;
    return counted.pending + entered - counted.entered < roomy * max;
  }

  async function count({ org_id, entry }: DecisionRows, agent: Standing, key: Standing): Promise<boolean> {
    const { agent_id, lineage_id, mode } = entry;
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

  async function enterToWait<T>(rows: DecisionRows, commit: (rows: DecisionRows) => Promise<T>): Promise<T> {
    const { agent_id, lineage_id, mode } = rows.entry;
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
      return await turns.memo(rows.org_id)(async () => {
        if (clock.now_us() - came_us > patience_us)
          throw new Fault("overloaded", { internal: "waited too long for the review queue" });
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
    "this limit is reached. Wait until reviewers have decided some.";
  return new Fault("review_queue_full", {
    details: [{ path: "/intent/agent/id", code: "out_of_range", message, agent_id, pending_max: agentMax }],
  });
}
