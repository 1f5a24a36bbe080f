/** One node: its database connection, and the memory that a crash deletes. */
import { sha256Hex } from "@countersign/core";
import type { Attempt } from "../packages/server/src/operations/webhooks/attempt-delivery.ts";
import type { Db, Query } from "../packages/server/src/ports.ts";
import type { LeasedDelivery } from "../packages/server/src/store/webhooks/delivery-queue.ts";

export class Crash extends Error {}

export interface Node {
  readonly db: Db;
  /** Statements until the process dies; null: it lives. `after`: the last one commits, but its answer is lost. */
  fate: { left: number; readonly after: boolean } | null;
  leased: { readonly delivery: LeasedDelivery; readonly since_s: number }[];
  ended: Attempt[];
}

export function startNode(database: Db, alter: (text: string) => string = (text) => text): Node {
  async function run<T>(statement: () => Promise<T>): Promise<T> {
    if (node.fate === null || node.fate.left-- > 0) return statement();
    if (node.fate.after) await statement();
    throw new Crash();
  }
  const wrap = (query: Query): Query => ((text, params) => run(() => query(alter(text), params))) as Query;
  const db: Db = {
    tenant: (org_id, work) => database.tenant(org_id, (query) => work(wrap(query))),
    reading: (org_id, wanted, work) => database.reading(org_id, wanted, (query) => work(wrap(query))),
    system: (work) => database.system((query) => work(wrap(query))),
    queued: ({ name, text }, params) => {
      const altered = alter(text);
      // A session accepts only one text for each name.
      const own = altered === text ? name : `${name} ${sha256Hex(altered).slice(0, 16)}`;
      return run(() => database.queued({ name: own, text: altered }, params));
    },
  };
  const node: Node = { db, fate: null, leased: [], ended: [] };
  return node;
}
