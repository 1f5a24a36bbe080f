/**
 * The loop that tells webhooks what happened. What is due stands in the database; a poke, the earliest due time and a
 * look every half second lead there, so a lost wake-up costs time and never a delivery. Two lanes, because dispatching a
 * burst of events must not hold up the attempts, nor the other way round: one turns events into deliveries and begins those
 * that there is room for; the other claims what is due, of all receivers at a look, and in between only of receivers
 * known to have more than there was room for. Attempts run side by side, within bounds for each receiver, each
 * organization and the node.
 */
import { limits } from "@countersign/contract";
import { formatTimestampUs } from "@countersign/core";
import { attemptDelivery, type Ended, settleDeliveries } from "../operations/deliver-due.ts";
import type { DeliveryLoop, DeliveryMetrics, Runtime } from "../operations/runtime.ts";
import { remembering } from "../operations/sealer.ts";
import {
  type ClaimedDelivery,
  claimDue,
  dispatchEvents,
  type ReceiverKey,
  type Room,
  receiverKey,
} from "../store/delivery-queue.ts";
import { ReceiverShares } from "./receiver-shares.ts";

/** Bounds of one node. */
export interface DeliveryTerms {
  readonly slots: number;
  /** Slots kept for organizations that have no more than `few` attempts in flight. */
  readonly reserve: number;
  readonly few: number;
  readonly per_webhook: { readonly first: number; readonly least: number; readonly most: number };
  readonly per_organization: number;
  /** An attempt takes 10 s at most; the rest is for settling it. */
  readonly lease_ms: number;
  /** Tests only: in place of the 5 s and 25 s of the contract. */
  readonly waits_ms?: readonly number[];
}

/**
 * What a service runs with. A receiver that takes everything at once is claimed for when half of its share is free: with
 * 128 that is twice as many for one statement as with 64, and PostgreSQL's time for a delivery a fifth less (measured).
 */
export const delivery_terms: DeliveryTerms = {
  slots: 512,
  reserve: 128,
  few: 4,
  per_webhook: { first: 8, least: 2, most: 128 },
  per_organization: 192,
  lease_ms: limits.delivery_attempt_timeout_ms + 10_000,
};

const look_ms = { idle: 1_000, pending: 500 };
/** Pokes within this time lead to one dispatch: a busy API pokes for every decision. */
const dispatch_every_ms = 5;
const claim_after_ends = 32;
/** Nobody waits for a settlement, and one for many deliveries costs little more than one for one. */
const settle_every_ms = 50;
const settling_again_ms = 500;
const settling_lanes = 3;
const stop_wait_ms = 8_000;

/** The loop, with its way to end: no new attempts, those under way finish or are left to another node's claim. */
export interface Deliveries extends DeliveryLoop {
  stop(): Promise<void>;
}

/** What the loop needs of the node. */
export type DeliveryRuntime = Pick<Runtime, "timers" | "db" | "ids" | "clock" | "log" | "sealer" | "httpOut"> & {
  readonly metrics: DeliveryMetrics;
};

/** Starts the loop. */
export function startDeliveries(runtime: DeliveryRuntime, terms: DeliveryTerms = delivery_terms): Deliveries {
  const { timers, db, ids, clock } = runtime;
  const sending = { ...runtime, sealer: remembering(runtime.sealer) };
  const shares = new ReceiverShares(terms.per_webhook);
  const settler = createSettler(runtime);
  /** Receivers that may have more due than was claimed. */
  const waiting = new Map<string, ReceiverKey>();
  let look_wanted = true;
  let stopped = false;
  let ended_since_claim = 0;
  let claiming = false;
  /** The latest dispatch, and what it leased is begun. */
  let leasing: Promise<void> = Promise.resolve();
  let idle: () => void = () => undefined;
  let cancelLook = timers.after(0, look);
  let cancelDispatch: (() => void) | null = null;
  const dispatches = createLane(runtime, dispatch);
  const claims = createLane(runtime, claim);

  function room(): Room {
    const { slots, reserve, few, per_organization, lease_ms } = terms;
    return { ...shares.room(), free: Math.max(slots - shares.in_flight, 0), reserve, few, per_organization, lease_ms };
  }

  function look(): void {
    if (stopped) return;
    cancelLook = timers.after(look_ms.idle, look);
    look_wanted = true;
    dispatches.run();
    claims.run();
  }

  async function dispatch(): Promise<void> {
    const made = { created_at: formatTimestampUs(clock.now_us()), next_id: () => ids.next("delivery") };
    // One of the two leases at a time: both would fill the same room.
    const dispatching = dispatchEvents(db, claiming || stopped ? { ...room(), free: 0 } : room(), made);
    leasing = dispatching.then(({ leased }) => leased.forEach(start)).catch(() => undefined);
    const { waiting: more, events_left } = await dispatching;
    await leasing;
    for (const each of more) waiting.set(receiverKey(each), each);
    if (more.length > 0) claims.run();
    // A part at a time: the first deliveries need not wait until the last event is dispatched.
    if (events_left && !stopped) dispatches.run();
  }

  async function claim(): Promise<void> {
    claiming = true;
    try {
      await leasing;
      await claimWanted();
    } finally {
      claiming = false;
    }
  }

  async function claimWanted(): Promise<void> {
    if (stopped || shares.in_flight >= terms.slots) return;
    if (look_wanted) return claimOfAll();
    const receivers = [...waiting.values()].filter((each) => shares.hasRoom(each));
    if (receivers.length === 0) return;
    const { deliveries } = await claimOf(receivers);
    // Whoever got nothing while others did may have been out of turn.
    if (deliveries.length === 0) for (const each of receivers) waiting.delete(receiverKey(each));
  }

  async function claimOfAll(): Promise<void> {
    look_wanted = false;
    const { deliveries, due_in_ms } = await claimOf(null);
    if (stopped || due_in_ms === null) return;
    cancelLook();
    // Overdue and not claimed: there is no room for it, or another node has it.
    const soon = due_in_ms > 0 && deliveries.length === 0;
    cancelLook = timers.after(soon ? Math.min(due_in_ms + 1, look_ms.pending) : look_ms.pending, look);
  }

  async function claimOf(receivers: readonly ReceiverKey[] | null) {
    ended_since_claim = 0;
    const claimed = await claimDue(db, room(), receivers);
    for (const each of claimed.deliveries) {
      start(each);
      const { org_id, webhook_id } = each;
      waiting.set(receiverKey(each), { org_id, webhook_id });
    }
    return claimed;
  }

  function start(claimed: ClaimedDelivery): void {
    shares.begin(claimed);
    attemptDelivery(sending, claimed, terms.waits_ms)
      .then(
        (ended) => {
          settler.add(ended);
          const { status } = ended.settlement;
          shares.end(claimed, status === "cancelled" ? null : status === "delivered", ended.duration_ms);
        },
        (error: unknown) => {
          shares.end(claimed, null, 0);
          // Not the receiver's failure but ours; its lease runs out and another attempt follows.
          runtime.log.error({ err: error, delivery_id: claimed.delivery_id }, "an attempt failed");
        },
      )
      .finally(() => {
        if (shares.in_flight === 0) idle();
        // Not at every end: one claim for several free places costs as much as for one.
        ended_since_claim += 1;
        if (waiting.size === 0) return;
        if (ended_since_claim >= claim_after_ends || (waiting.has(receiverKey(claimed)) && shares.hasRoom(claimed)))
          claims.run();
      });
  }

  return {
    poke(receiver) {
      if (stopped) return;
      if (receiver !== undefined) {
        waiting.set(receiverKey(receiver), receiver);
        claims.run();
        return;
      }
      cancelDispatch ??= timers.after(dispatch_every_ms, () => {
        cancelDispatch = null;
        dispatches.run();
      });
    },
    async stop() {
      stopped = true;
      cancelLook();
      cancelDispatch?.();
      await Promise.all([dispatches.ended(), claims.ended()]);
      if (shares.in_flight > 0) {
        await new Promise<void>((resolve) => {
          idle = resolve;
          timers.after(stop_wait_ms, resolve);
        });
      }
      await settler.stop();
    },
  };
}

/** Runs work one at a time: asked for while it runs, it runs once more. Failures are logged; the next look tries again. */
function createLane(runtime: DeliveryRuntime, work: () => Promise<void>): { run(): void; ended(): Promise<void> } {
  let wanted = false;
  let running: Promise<void> | null = null;
  async function runAll(): Promise<void> {
    while (wanted) {
      wanted = false;
      await work().catch((error: unknown) => runtime.log.error({ err: error }, "looking for deliveries failed"));
    }
    running = null;
  }
  return {
    run() {
      wanted = true;
      running ??= runAll();
    },
    ended: async () => void (await running),
  };
}

/** Settles in the background, all that has gathered for an organization in one transaction. */
function createSettler(runtime: DeliveryRuntime): { add(ended: Ended): void; stop(): Promise<void> } {
  const waiting = new Map<string, Ended[]>();
  const settling = new Map<string, Promise<void>>();
  let gathering: (() => void) | null = null;
  let stopped = false;

  function add(ended: Ended): void {
    const { org_id } = ended.claimed;
    const list = waiting.get(org_id);
    if (list === undefined) waiting.set(org_id, [ended]);
    else list.push(ended);
    if (stopped) pump();
    else gathering ??= runtime.timers.after(settle_every_ms, pump);
  }

  function pump(): void {
    gathering?.();
    gathering = null;
    for (const [org_id, list] of waiting) {
      if (settling.size >= settling_lanes) return;
      if (settling.has(org_id)) continue;
      waiting.delete(org_id);
      settling.set(
        org_id,
        settleAll(org_id, list).finally(() => {
          settling.delete(org_id);
          if (waiting.size > 0) pump();
        }),
      );
    }
  }

  async function settleAll(org_id: string, list: readonly Ended[]): Promise<void> {
    for (;;) {
      try {
        await settleDeliveries(runtime, org_id, list);
        for (const { settlement, duration_ms } of list) runtime.metrics.attempted(settlement.status, duration_ms);
        return;
      } catch (error) {
        runtime.log.error({ err: error, org_id }, "settling deliveries failed");
        if (stopped) return;
        // Until then the leases hold; when they have run out the settlement is void, and the attempt happens again.
        await new Promise<void>((resolve) => void runtime.timers.after(settling_again_ms, resolve));
      }
    }
  }

  return {
    add,
    async stop() {
      stopped = true;
      pump();
      while (settling.size > 0) await Promise.all(settling.values());
    },
  };
}
