/**
 * Simulates deliveries: two nodes on a real database, and webhooks that are registered, switched off and deleted.
 * Receivers accept, refuse, hang, or accept without an answer. Nodes die before a statement, after its commit, or with
 * unsettled attempts.
 *
 * One seed draws everything. Time passes by moving due times. One second is 1,000 s of the database, so that pauses of
 * the machine do not change what is due.
 */

import { eventDraftText, Fault, formatTimestampUs } from "@countersign/core";
import { contractSignature } from "../packages/core/src/webhooks/signature.ts";
import { createIds } from "../packages/server/src/edge/ids.ts";
import { createSealer } from "../packages/server/src/edge/start/sealer.ts";
import { createOrganization } from "../packages/server/src/operations/organizations/create-organization.ts";
import { attemptDelivery } from "../packages/server/src/operations/webhooks/attempt-delivery.ts";
import { changeWebhook } from "../packages/server/src/operations/webhooks/change-webhook.ts";
import { deleteWebhook } from "../packages/server/src/operations/webhooks/delete-webhook.ts";
import { registerWebhook } from "../packages/server/src/operations/webhooks/register-webhook.ts";
import { retryDelivery } from "../packages/server/src/operations/webhooks/retry-delivery.ts";
import { retryFailedDeliveries } from "../packages/server/src/operations/webhooks/retry-failed-deliveries.ts";
import { settleAttempts } from "../packages/server/src/operations/webhooks/settle-attempts.ts";
import type { Clock, Db, HttpOut } from "../packages/server/src/ports.ts";
import { withHead } from "../packages/server/src/store/organizations/heads.ts";
import {
  type LeasedDelivery,
  large_bytes,
  leaseDue,
  type Room,
} from "../packages/server/src/store/webhooks/delivery-queue.ts";
import { dispatchEvents } from "../packages/server/src/store/webhooks/dispatch-events.ts";
import { checkAtTheEnd, checkDeliveries, type DeliveryMemory, type Sent } from "./deliveries-invariants.ts";
import { Crash, type Node, startNode } from "./deliveries-node.ts";
import { InvariantBroken } from "./invariants.ts";
import { createRandom, type Random } from "./random.ts";

export interface DeliverySetting {
  readonly db: Db;
  readonly alter?: (text: string) => string;
}

export type DeliveryResult =
  | { readonly sound: true; readonly trace: readonly string[] }
  | { readonly sound: false; readonly step: number; readonly problem: string; readonly trace: readonly string[] };

const attempt_s = 10;
const second_ms = 1_000_000;
const waits_ms = [5 * second_ms, 25 * second_ms];
const types = ["quota.exceeded", "decision.blocked"] as const;
const room: Room = {
  ...{ places: 5, receivers: {}, per_webhook: 3, lease_ms: 20 * second_ms },
  ...{ large_bytes: large_bytes.organization, lone_bytes: large_bytes.all },
};

export async function runDeliveries(seed: number, setting: DeliverySetting, steps = 32): Promise<DeliveryResult> {
  const world = new DeliveriesWorld(createRandom(seed), setting);
  const { trace } = world;
  let step = 0;
  try {
    await world.prepare();
    for (; step < steps; step++) await world.step();
    await world.heal();
    return { sound: true, trace };
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    return { sound: false, step, problem: error.message, trace };
  }
}

class DeliveriesWorld {
  readonly trace: string[] = [];
  readonly #random: Random;
  readonly #db: Db;
  readonly #nodes: readonly [Node, Node];
  #now_s = Math.floor(Date.now() / 1_000);
  /** Readings of the clock. Each adds a microsecond. */
  #ticks = 0;
  readonly #clock: Clock = { now_us: () => this.#now_s * 1_000_000 + ++this.#ticks };
  readonly #ids = createIds(this.#clock);
  readonly #sealer = createSealer(Buffer.alloc(32, 1));
  readonly #secrets = new Map<string, string>();
  readonly #memory: DeliveryMemory = {
    org_id: this.#ids.next("organization"),
    events: [],
    sent: [],
    disruptions: new Map(),
    retried: [],
  };
  readonly #caller = {
    org_id: this.#memory.org_id,
    key_id: null,
    session_id: null,
    lineage_id: null,
    user_id: null,
    actor: "system",
  };
  /** In half of the worlds receivers fail so often that many deliveries fail and are retried. */
  readonly #answers: readonly ("takes" | "refuses" | "hangs" | "takes and hangs")[];
  #kindly = false;

  constructor(random: Random, { db, alter }: DeliverySetting) {
    this.#random = random;
    this.#db = db;
    this.#nodes = [startNode(db, alter), startNode(db, alter)];
    this.#answers = random.chance(0.5)
      ? ["takes", "takes", "takes", "refuses", "hangs", "takes and hangs"]
      : ["takes", "refuses", "refuses", "refuses", "hangs", "takes and hangs"];
  }

  async prepare(): Promise<void> {
    const { org_id } = this.#memory;
    await this.#db.system(async (query) => {
      await query("update deliveries set status = 'cancelled' where status = 'pending'");
      await query("delete from events");
      const about = { org_id, name: "sim", email: null, description: "sim", actor: "system" };
      await createOrganization({ clock: this.#clock, ids: this.#ids }, query, about);
    });
    for (let n = 0; n < 2; n++) await this.#register(this.#nodes[0]);
  }

  async step(): Promise<void> {
    for (let n = this.#random.below(4); n >= 0; n--) this.trace.push(await this.#act());
    await checkDeliveries(this.#db, this.#memory);
  }

  /** Heals everything, lets time pass until nothing is left to do, and checks the final invariants. */
  async heal(): Promise<void> {
    this.#kindly = true;
    for (let round = 0; round < 12; round++) {
      for (const node of this.#nodes) {
        await this.#dispatch(node);
        await this.#lease(node);
        while (node.leased.length > 0) await this.#send(node);
        await this.#settle(node);
      }
      await this.#pass(60);
    }
    await checkDeliveries(this.#db, this.#memory);
    await checkAtTheEnd(this.#db, this.#memory);
  }

  async #act(): Promise<string> {
    const random = this.#random;
    const node = random.pick(this.#nodes);
    const draw = random.below(100);
    if (draw < 16) return `event: ${await this.#addEvent()}`;
    if (draw < 30) return `dispatch: ${await this.#dispatch(node)}`;
    if (draw < 44 || (draw < 64 && node.leased.length === 0)) return `lease: ${await this.#lease(node)}`;
    if (draw < 64) return `send: ${await this.#sendSome(node)}`;
    if (draw < 70 && node.ended.length > 0) return `settle: ${await this.#settle(node)}`;
    if (draw < 86) return this.#pass(random.pick([2, 6, 26, 60]));
    if (draw < 89) return `register: ${await this.#register(node)}`;
    if (draw < 92 && this.#memory.disruptions.size > 0) return `webhook: ${await this.#disrupt(node)}`;
    if (random.chance(0.25))
      return `retry all: ${await this.#retryAll(node)}, ${await this.#retryAll(random.pick(this.#nodes))}`;
    return this.#retryOne(node);
  }

  /** Returns the outcome of a step in a word. A crash clears the node's memory. */
  async #outcome(node: Node, work: () => Promise<string>): Promise<string> {
    const random = this.#random;
    node.fate = !this.#kindly && random.chance(0.2) ? { left: random.below(5), after: random.chance(0.5) } : null;
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fault) return error.code;
      if (error instanceof InvariantBroken) throw error;
      if (!(error instanceof Crash)) throw new InvariantBroken(`a step failed: ${String(error)}`);
      node.leased = [];
      node.ended = [];
      return "crashed";
    } finally {
      node.fate = null;
    }
  }

  #runtimeOf(node: Node) {
    return {
      ...{ db: node.db, clock: this.#clock, ids: this.#ids, sealer: this.#sealer },
      httpOut: { check: async (href: string) => ({ href }) } as HttpOut,
      deliveries: { wake: () => undefined },
    };
  }

  async #addEvent(): Promise<string> {
    const { org_id } = this.#memory;
    const event_type = this.#random.pick(types);
    const event_id = this.#ids.next("event");
    const created_at = formatTimestampUs(this.#clock.now_us());
    const at_us = this.#clock.now_us();
    const body = eventDraftText({ event_type, organization_id: org_id, at_us, data: { z: 1, a: [event_id] } });
    const watching = await this.#db.tenant(org_id, async (query) => {
      const about = { intent_id: null, decision_id: null, escalation_id: null };
      const event = { event_id, event_type, ...about, body, created_at };
      await withHead(query, org_id, { audit: [], events: [event] });
      return query<{ webhook_id: string }>(
        `select webhook_id from webhooks where org_id = $1 and active and event_types::jsonb ? $2
           and exists(select 1 from events where org_id = $1 and event_id = $3)`,
        [org_id, event_type, event_id],
      );
    });
    const { disruptions } = this.#memory;
    const audience = new Map(watching.map(({ webhook_id }) => [webhook_id, disruptions.get(webhook_id) ?? 0]));
    this.#memory.events.push({ event_id, body, audience });
    return `${event_type} for ${audience.size}`;
  }

  #dispatch(node: Node): Promise<string> {
    return this.#outcome(node, async () => {
      const created_at = formatTimestampUs(this.#clock.now_us());
      const next_id = () => this.#ids.next("delivery");
      const { made } = await dispatchEvents(node.db, this.#memory.org_id, { next_id, created_at });
      return `${made} made`;
    });
  }

  #lease(node: Node): Promise<string> {
    return this.#outcome(node, async () => {
      const places = 1 + this.#random.below(room.places);
      const { deliveries } = await leaseDue(node.db, this.#memory.org_id, { ...room, places });
      for (const each of deliveries) this.#begin(node, each);
      return deliveries.map(({ number }) => number).join(" ");
    });
  }

  /** Checks that no other attempt of the leased delivery runs. */
  #begin(node: Node, delivery: LeasedDelivery): void {
    const { delivery_id } = delivery;
    const running = this.#nodes
      .flatMap(({ leased }) => leased)
      .some((each) => each.delivery.delivery_id === delivery_id && this.#now_s - each.since_s < attempt_s);
    if (running) throw new InvariantBroken(`${delivery_id} is leased while an attempt of it runs`);
    node.leased.push({ delivery, since_s: this.#now_s });
  }

  async #sendSome(node: Node): Promise<string> {
    const sends = [await this.#send(node)];
    while (node.leased.length > 0 && this.#random.chance(0.7)) sends.push(await this.#send(node));
    return sends.join(", ");
  }

  /** Makes one attempt. The receiver has it, and the node holds the result in memory. */
  async #send(node: Node): Promise<string> {
    const at = this.#random.below(node.leased.length);
    const [{ delivery }] = node.leased.splice(at, 1) as [Node["leased"][number]];
    const parts = { clock: this.#clock, sealer: this.#sealer, httpOut: this.#receiverOf(delivery) };
    node.ended.push(await attemptDelivery(parts, delivery));
    return `attempt ${delivery.number}`;
  }

  #receiverOf({ webhook_id, number }: LeasedDelivery): HttpOut {
    return {
      check: async (href) => ({ href }),
      ask: () => Promise.reject(new Error("this world asks nothing")),
      post: async (_url, headers, body) => {
        const answer = this.#kindly ? "takes" : this.#random.pick(this.#answers);
        const signature = contractSignature(this.#secrets.get(webhook_id) ?? "", body);
        const sent: Sent = {
          delivery_id: headers["X-Service-Delivery"] ?? "",
          ...{ webhook_id, number, body },
          genuine: headers["X-Service-Signature"] === signature,
          retry: headers["X-Service-Retry"] === "true",
          taken: answer.startsWith("takes"),
        };
        this.#memory.sent.push(sent);
        this.trace.push(`the receiver ${answer}`);
        if (answer === "takes") return { response_status: 204, error: null, duration_ms: 1 };
        if (answer === "refuses") return { response_status: 500, error: "The receiver answered 500.", duration_ms: 1 };
        return { response_status: null, error: "The receiver did not answer.", duration_ms: 10_000 };
      },
    };
  }

  #settle(node: Node): Promise<string> {
    return this.#outcome(node, async () => {
      if (node.ended.length === 0) return "nothing to settle";
      const parts = { db: node.db, clock: this.#clock, ids: this.#ids };
      const settled = await settleAttempts(parts, this.#memory.org_id, node.ended, waits_ms);
      node.ended = [];
      return settled.map(({ status }) => status).join(" ");
    });
  }

  #register(node: Node): Promise<string> {
    return this.#outcome(node, async () => {
      const event_types = this.#random.chance(0.5) ? [...types] : [this.#random.pick(types)];
      const asked = { url: "https://receiver.test/", event_types };
      const { response } = await registerWebhook(this.#runtimeOf(node), this.#caller, asked);
      this.#secrets.set(response.id, response.secret);
      this.#memory.disruptions.set(response.id, 0);
      return "registered";
    });
  }

  async #disrupt(node: Node): Promise<string> {
    const { disruptions } = this.#memory;
    const webhook_id = this.#random.pick([...disruptions.keys()]);
    // Counted first, because the change may commit even if the node dies.
    disruptions.set(webhook_id, (disruptions.get(webhook_id) ?? 0) + 1);
    const change = this.#random.pick(["delete", "off", "on"] as const);
    return this.#outcome(node, async () => {
      const runtime = this.#runtimeOf(node);
      if (change === "delete") await deleteWebhook(runtime, this.#caller, webhook_id);
      else await changeWebhook(runtime, this.#caller, webhook_id, { active: change === "on" });
      if (change !== "on") await checkDeliveries(this.#db, this.#memory, webhook_id);
      return change;
    });
  }

  async #retryOne(node: Node): Promise<string> {
    const { org_id } = this.#memory;
    const known = await this.#db.tenant(org_id, (query) =>
      query<{ delivery_id: string }>(
        "select delivery_id from deliveries where org_id = $1 and status in ('failed', 'delivered') order by status desc, delivery_id",
        [org_id],
      ),
    );
    const [first] = known;
    if (first === undefined) return "nothing to retry";
    const { delivery_id } = this.#random.chance(0.8) ? first : this.#random.pick(known);
    const one = await this.#retry(node, delivery_id);
    return `retry: ${one} ${await this.#retry(this.#random.pick(this.#nodes), delivery_id)}`;
  }

  #retry(node: Node, delivery_id: string): Promise<string> {
    return this.#outcome(node, async () => {
      const { response } = await retryDelivery(this.#runtimeOf(node), this.#caller, delivery_id, undefined);
      const { delivery_id: id, original_delivery_id } = response;
      this.#memory.retried.push({ delivery_id: id, of: delivery_id, original_delivery_id });
      return "retried";
    });
  }

  #retryAll(node: Node): Promise<string> {
    return this.#outcome(node, async () => {
      let count = 0;
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) };
        const page = await retryFailedDeliveries(this.#runtimeOf(node), this.#caller, query);
        for (const { delivery_id, original_delivery_id } of page.deliveries)
          this.#memory.retried.push({ delivery_id, of: "a page", original_delivery_id });
        count += page.deliveries.length;
        cursor = page.next_cursor;
      }
      return `${count} retried`;
    });
  }

  /** Lets time pass. An attempt ends after 10 s. A process stopped for longer may still send once, late. */
  async #pass(seconds: number): Promise<string> {
    this.#now_s += seconds;
    await this.#db.system((query) =>
      query(
        "update deliveries set due_at = due_at - $1::integer * interval '1 millisecond' where org_id = $2 and status = 'pending'",
        [seconds * second_ms, this.#memory.org_id],
      ),
    );
    return `${seconds} s pass`;
  }
}
