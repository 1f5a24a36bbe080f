/**
 * A small world around deliveries: two nodes on one real database, one organization, webhooks that are registered,
 * switched off and deleted, receivers that take, refuse, hang, or take without an answer, manual retries, and nodes that
 * die between any two steps: before a statement, after its commit, with attempts leased, sent, or ended and not settled. One
 * seed draws everything. The database's clock cannot be set: time passes by moving due times, and a second of this world is
 * a thousand of the database's, so that no pause of the machine changes what is due.
 */

import { eventDraftText, Fault, formatTimestampUs, sha256Hex } from "@countersign/core";
import { contractSignature } from "../packages/core/src/webhooks/signature.ts";
import { createIds } from "../packages/server/src/edge/ids.ts";
import { createSealer } from "../packages/server/src/edge/start/sealer.ts";
import { createOrganization } from "../packages/server/src/operations/organizations/create-organization.ts";
import { type Attempt, attemptDelivery } from "../packages/server/src/operations/webhooks/attempt-delivery.ts";
import { changeWebhook } from "../packages/server/src/operations/webhooks/change-webhook.ts";
import { deleteWebhook } from "../packages/server/src/operations/webhooks/delete-webhook.ts";
import { registerWebhook } from "../packages/server/src/operations/webhooks/register-webhook.ts";
import { retryDelivery } from "../packages/server/src/operations/webhooks/retry-delivery.ts";
import { retryFailedDeliveries } from "../packages/server/src/operations/webhooks/retry-failed-deliveries.ts";
import { settleAttempts } from "../packages/server/src/operations/webhooks/settle-attempts.ts";
import type { Clock, Db, HttpOut, Query } from "../packages/server/src/ports.ts";
import { withHead } from "../packages/server/src/store/organizations/heads.ts";
import { type LeasedDelivery, leaseDue, type Room } from "../packages/server/src/store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../packages/server/src/store/webhooks/dispatch-events.ts";
import { checkAtTheEnd, checkDeliveries, type DeliveryMemory, type Sent } from "./deliveries-invariants.ts";
import { InvariantBroken } from "./invariants.ts";
import { createRandom } from "./random.ts";

/** What a world stands on; `alter` misspells statements on purpose. */
export interface DeliverySetting {
  readonly db: Db;
  readonly alter?: (text: string) => string;
}

/** How a run ended: sound, or the first broken promise with what led to it. */
export type DeliveryResult =
  | { readonly sound: true; readonly trace: readonly string[] }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

class Crash extends Error {}

/** A process: what it has in hand is lost when it dies. */
interface Node {
  readonly db: Db;
  /** Statements until it dies; null: it lives. `after`: its last statement is committed, and it never hears of it. */
  fate: { left: number; readonly after: boolean } | null;
  leased: { readonly delivery: LeasedDelivery; readonly since_s: number }[];
  ended: Attempt[];
}

const attempt_s = 10;
const second_ms = 1_000_000;
const waits_ms = [5 * second_ms, 25 * second_ms];
const types = ["quota.exceeded", "decision.blocked"] as const;
const room: Room = {
  ...{ free: 5, reserve: 0, few: 0, per_organization: 8, per_webhook: 3, lease_ms: 20 * second_ms },
  ...{ receivers: {}, organizations: {} },
};

/** The node's way to the database. */
function startNode(setting: DeliverySetting): Node {
  const node: Node = { db: undefined as never, fate: null, leased: [], ended: [] };
  const alter = setting.alter ?? ((text: string) => text);
  async function run<T>(statement: () => Promise<T>): Promise<T> {
    if (node.fate === null || node.fate.left-- > 0) return statement();
    if (node.fate.after) await statement();
    throw new Crash();
  }
  const wrap = (query: Query): Query => ((text, params) => run(() => query(alter(text), params))) as Query;
  const db: Db = {
    tenant: (org_id, work) => setting.db.tenant(org_id, (query) => work(wrap(query))),
    system: (work) => setting.db.system((query) => work(wrap(query))),
    queued: ({ name, text }, params) => {
      const altered = alter(text);
      // A session knows one text by each name.
      const own = altered === text ? name : `${name} ${sha256Hex(altered).slice(0, 16)}`;
      return run(() => setting.db.queued({ name: own, text: altered }, params));
    },
  };
  return Object.assign(node, { db });
}

/** Runs one world. */
export async function runDeliveries(seed: number, setting: DeliverySetting, steps = 32): Promise<DeliveryResult> {
  const random = createRandom(seed);
  const { db } = setting;
  let now_s = Math.floor(Date.now() / 1_000);
  let ticks = 0;
  const clock: Clock = { now_us: () => now_s * 1_000_000 + ++ticks };
  const ids = createIds(clock);
  const sealer = createSealer(Buffer.alloc(32, 1));
  const nodes = [startNode(setting), startNode(setting)];
  const trace: string[] = [];
  const memory: DeliveryMemory = {
    org_id: ids.next("organization"),
    events: [],
    sent: [],
    disruptions: new Map(),
    retried: [],
  };
  const { org_id } = memory;
  const caller = { org_id, key_id: null, session_id: null, lineage_id: null, actor: "system" };
  const secrets = new Map<string, string>();
  let kindly = false;
  /** In half of the worlds receivers are out of order so often that much fails for good and is sent again. */
  const answers = random.chance(0.5)
    ? (["takes", "takes", "takes", "refuses", "hangs", "takes and hangs"] as const)
    : (["takes", "refuses", "refuses", "refuses", "hangs", "takes and hangs"] as const);

  /** A receiver: counts what it takes, and answers as the seed says. */
  function httpOut(delivery: LeasedDelivery): HttpOut {
    return {
      check: async (href) => ({ href }),
      ask: () => Promise.reject(new Error("nobody asks here")),
      async post(_url, headers, body) {
        const draw = kindly ? "takes" : random.pick(answers);
        const sent: Sent = {
          delivery_id: headers["X-Service-Delivery"] ?? "",
          webhook_id: delivery.webhook_id,
          number: delivery.number,
          body,
          genuine: headers["X-Service-Signature"] === contractSignature(secrets.get(delivery.webhook_id) ?? "", body),
          retry: headers["X-Service-Retry"] === "true",
          taken: draw.startsWith("takes"),
        };
        memory.sent.push(sent);
        trace.push(`the receiver ${draw}`);
        if (draw === "takes") return { response_status: 204, error: null, duration_ms: 1 };
        if (draw === "refuses") return { response_status: 500, error: "The receiver answered 500.", duration_ms: 1 };
        return { response_status: null, error: "The receiver did not answer.", duration_ms: 10_000 };
      },
    };
  }

  const runtimeOf = (node: Node) => ({
    ...{ db: node.db, clock, ids, sealer, httpOut: { check: async (href: string) => ({ href }) } as HttpOut },
    deliveries: { poke: () => undefined },
  });

  /** The outcome of a step in a word; a crash loses everything that the node has in hand. */
  async function told(node: Node, work: () => Promise<string>): Promise<string> {
    node.fate = !kindly && random.chance(0.2) ? { left: random.below(5), after: random.chance(0.5) } : null;
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault) return error.code;
      if (!(error instanceof Crash)) throw new InvariantBroken(`a step failed: ${String(error)}`);
      node.leased = [];
      node.ended = [];
      return "crashed";
    } finally {
      node.fate = null;
    }
  }

  function begin(node: Node, delivery: LeasedDelivery): void {
    const elsewhere = nodes
      .flatMap(({ leased }) => leased)
      .find((each) => each.delivery.delivery_id === delivery.delivery_id && now_s - each.since_s < attempt_s);
    if (elsewhere !== undefined)
      throw new InvariantBroken(`${delivery.delivery_id} is leased while an attempt of it runs`);
    node.leased.push({ delivery, since_s: now_s });
  }

  const dispatch = (node: Node) =>
    told(node, async () => {
      const made = { next_id: () => ids.next("delivery"), created_at: formatTimestampUs(clock.now_us()) };
      const dispatched = await dispatchEvents(node.db, made);
      return `${dispatched.made} made`;
    });

  const lease = (node: Node) =>
    told(node, async () => {
      const { deliveries } = await leaseDue(node.db, { ...room, free: 1 + random.below(room.free) });
      for (const each of deliveries) begin(node, each);
      return deliveries.map(({ number }) => number).join(" ");
    });

  /** The attempt itself: from here on the receiver has it, and the node holds what came of it. */
  async function send(node: Node): Promise<string> {
    const [{ delivery }] = node.leased.splice(random.below(node.leased.length), 1) as [Node["leased"][number]];
    node.ended.push(await attemptDelivery({ clock, sealer, httpOut: httpOut(delivery) }, delivery));
    return `attempt ${delivery.number}`;
  }

  const settle = (node: Node) =>
    told(node, async () => {
      if (node.ended.length === 0) return "nothing to settle";
      const settled = await settleAttempts({ db: node.db, clock, ids }, org_id, node.ended, waits_ms);
      const statuses = settled.map(({ status }) => status).join(" ");
      node.ended = [];
      return statuses;
    });

  async function addEvent(): Promise<string> {
    const event_type = random.pick(types);
    const event_id = ids.next("event");
    const at = formatTimestampUs(clock.now_us());
    const body = eventDraftText({
      event_type,
      organization_id: org_id,
      at_us: clock.now_us(),
      data: { z: 1, a: [event_id] },
    });
    const told_ids = await db.tenant(org_id, async (query) => {
      const event = {
        event_id,
        event_type,
        intent_id: null,
        decision_id: null,
        escalation_id: null,
        body,
        created_at: at,
      };
      await withHead(query, org_id, { audit: [], events: [event] });
      return query<{ webhook_id: string }>(
        `select webhook_id from webhooks where org_id = $1 and active and event_types::jsonb ? $2
           and exists(select 1 from events where org_id = $1 and event_id = $3)`,
        [org_id, event_type, event_id],
      );
    });
    const audience = new Map(told_ids.map(({ webhook_id }) => [webhook_id, memory.disruptions.get(webhook_id) ?? 0]));
    memory.events.push({ event_id, body, audience });
    return `${event_type} for ${audience.size}`;
  }

  const register = (node: Node) =>
    told(node, async () => {
      const event_types = random.chance(0.5) ? [...types] : [random.pick(types)];
      const { response } = await registerWebhook(runtimeOf(node), caller, {
        url: "https://receiver.test/",
        event_types,
      });
      secrets.set(response.id, response.secret);
      memory.disruptions.set(response.id, 0);
      return "registered";
    });

  async function disrupt(node: Node): Promise<string> {
    const webhook_id = random.pick([...memory.disruptions.keys()]);
    // Counted before: when the node dies it may have happened.
    memory.disruptions.set(webhook_id, (memory.disruptions.get(webhook_id) ?? 0) + 1);
    const change = random.pick(["delete", "off", "on"] as const);
    const answer = await told(node, async () => {
      if (change === "delete") await deleteWebhook(runtimeOf(node), caller, webhook_id);
      else await changeWebhook(runtimeOf(node), caller, webhook_id, { active: change === "on" });
      if (change !== "on") await checkDeliveries(db, memory, webhook_id);
      return change;
    });
    return answer;
  }

  const retry = (node: Node, delivery_id: string) =>
    told(node, async () => {
      const { response } = await retryDelivery(runtimeOf(node), caller, delivery_id, undefined);
      const { delivery_id: id, original_delivery_id } = response;
      memory.retried.push({ delivery_id: id, of: delivery_id, original_delivery_id });
      return "retried";
    });

  const retryAll = (node: Node) =>
    told(node, async () => {
      let count = 0;
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) };
        const page = await retryFailedDeliveries(runtimeOf(node), caller, query);
        for (const { delivery_id, original_delivery_id } of page.deliveries)
          memory.retried.push({ delivery_id, of: "a page", original_delivery_id });
        count += page.deliveries.length;
        cursor = page.next_cursor;
      }
      return `${count} retried`;
    });

  /** Attempts end after 10 s whatever happens; a process that was stopped for longer may still send late, once. */
  async function pass(seconds: number): Promise<string> {
    now_s += seconds;
    await db.system((query) =>
      query(
        "update deliveries set due_at = due_at - $1::integer * interval '1 millisecond' where org_id = $2 and status = 'pending'",
        [seconds * second_ms, org_id],
      ),
    );
    return `${seconds} s pass`;
  }

  async function act(): Promise<string> {
    const node = random.pick(nodes);
    const draw = random.below(100);
    if (draw < 16) return `event: ${await addEvent()}`;
    if (draw < 30) return `dispatch: ${await dispatch(node)}`;
    if (draw < 44 || (draw < 64 && node.leased.length === 0)) return `lease: ${await lease(node)}`;
    if (draw < 64) {
      const sends = [await send(node)];
      while (node.leased.length > 0 && random.chance(0.7)) sends.push(await send(node));
      return `send: ${sends.join(", ")}`;
    }
    if (draw < 70 && node.ended.length > 0) return `settle: ${await settle(node)}`;
    if (draw < 86) return pass(random.pick([2, 6, 26, 60]));
    if (draw < 89) return `register: ${await register(node)}`;
    if (draw < 92 && memory.disruptions.size > 0) return `webhook: ${await disrupt(node)}`;
    if (random.chance(0.25)) return `retry all: ${await retryAll(node)}, ${await retryAll(random.pick(nodes))}`;
    const known = await db.tenant(org_id, (query) =>
      query<{ delivery_id: string }>(
        "select delivery_id from deliveries where org_id = $1 and status in ('failed', 'delivered') order by status desc, delivery_id",
        [org_id],
      ),
    );
    if (known.length === 0) return "nothing to retry";
    const { delivery_id } = random.chance(0.8) ? (known[0] as { delivery_id: string }) : random.pick(known);
    return `retry: ${await retry(node, delivery_id)} ${await retry(random.pick(nodes), delivery_id)}`;
  }

  /** Everything heals: receivers take everything, and time passes until nothing is left to do. */
  async function heal(): Promise<void> {
    kindly = true;
    for (let round = 0; round < 12; round++) {
      for (const node of nodes) {
        await dispatch(node);
        await lease(node);
        while (node.leased.length > 0) await send(node);
        await settle(node);
      }
      await pass(60);
    }
  }

  let step = 0;
  try {
    await db.system(async (query) => {
      // What a broken world left behind is not this one's.
      await query("update deliveries set status = 'cancelled' where status = 'pending'");
      await query("delete from events");
      await createOrganization({ clock, ids }, query, {
        org_id,
        name: "sim",
        email: null,
        description: "sim",
        actor: "system",
      });
    });
    for (let n = 0; n < 2; n++) await register(nodes[0] as Node);
    for (; step < steps; step++) {
      for (let n = random.below(4); n >= 0; n--) trace.push(await act());
      await checkDeliveries(db, memory);
    }
    await heal();
    await checkDeliveries(db, memory);
    await checkAtTheEnd(db, memory);
    return { sound: true, trace };
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    return { sound: false, step, problem: error.message, trace };
  }
}
