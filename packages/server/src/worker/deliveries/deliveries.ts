/**
 * The loop that tells webhooks what happened. What is due stands in the database; a poke, the earliest due time and a
 * look every half second lead there, so a lost wake-up costs time and never a delivery. Two lanes, because dispatching a
 * burst of events must not hold up the attempts, nor the other way round: one turns events into deliveries and begins those
 * that there is room for; the other claims what is due, of all receivers at a look, and in between only of receivers
 * known to have more than there was room for. Attempts run side by side, within bounds for each receiver, each
 * organization and the node.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "@countersign/contract";
import { formatTimestampUs } from "@countersign/core";
import type { DeliveryLoop, DeliveryMetrics, Runtime } from "../../operations/runtime.ts";
import { remembering } from "../../operations/shared/sealer.ts";
import { abandonedAttempt, attemptDelivery } from "../../operations/webhooks/deliver-due.ts";
import type { GiveWay } from "../../ports.ts";
import {
  type ClaimedDelivery,
  claimDue,
  largeBytes,
  type ReceiverKey,
  type Room,
  readGone,
  receiverKey,
} from "../../store/webhooks/delivery-queue.ts";
import { dispatchNext, no_burst } from "../../store/webhooks/dispatch-burst.ts";
import { type Dispatched, events_per_statement } from "../../store/webhooks/dispatch-events.ts";
import { createDispatchPace, events_as_places_come } from "./dispatch-pace.ts";
import { ReceiverShares } from "./receiver-shares.ts";
import { createSettler } from "./settler.ts";

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
 * What a service runs with. A receiver that takes everything at once is claimed for when half of its share is free: the more
 * for one statement, the less of PostgreSQL's time for a delivery (with 128 a fifth less than with 64, with 192 and 288 less again).
 */
export const delivery_terms: DeliveryTerms = {
  slots: 960,
  reserve: 192,
  few: 4,
  per_webhook: { first: 8, least: 2, most: 288 },
  per_organization: 384,
  lease_ms: limits.delivery_attempt_timeout_ms + 10_000,
};

/**
 * What was leased longer ago is looked at again before it is sent, for its webhook may be gone: a thread that gives way to
 * requests begins the last of what it leased up to two seconds later (measured on a busy machine).
 */
const lease_known_us = 50_000;

const look_ms = { idle: 1_000, pending: 500 };
/** Pokes within this time lead to one dispatch: a busy API pokes for every decision. */
const dispatch_every_ms = 5;
const claim_after_ends = 32;
/**
 * In one statement, while requests come: a settlement of 250 holds the organization's head for some 10 ms, and its decisions
 * wait for that. Smaller pieces cost a tenth more for a delivery.
 */
const at_once = 32;
/** A whole service ends within 10 s; an attempt may take as long by itself. */
const stop_wait_ms = 4_000;

/** The loop, with its way to end: no new attempts; those under way finish, or after a while are settled as interrupted. */
export interface Deliveries extends DeliveryLoop {
  stop(): Promise<void>;
}

/** What the loop needs of the node. */
export type DeliveryRuntime = Pick<Runtime, "timers" | "db" | "ids" | "clock" | "log" | "sealer" | "httpOut"> & {
  readonly metrics: DeliveryMetrics;
  /** Undefined: to nobody. */
  readonly giveWay?: GiveWay;
};

/** Starts the loop. */
export function startDeliveries(runtime: DeliveryRuntime, terms: DeliveryTerms = delivery_terms): Deliveries {
  const { timers, db, ids, clock, giveWay } = runtime;
  const sending = { ...runtime, sealer: remembering(runtime.sealer) };
  const shares = new ReceiverShares(terms.per_webhook);
  const settler = createSettler(runtime, politely, () => atMost(Number.POSITIVE_INFINITY));
  /** Receivers that may have more due than was claimed; another object each time that is found. */
  const waiting = new Map<string, ReceiverKey>();
  /** Attempts under way, and when each began. */
  const underway = new Map<ClaimedDelivery, number>();
  let look_wanted = true;
  let all_events_wanted = true;
  let stopped = false;
  let ended_since_claim = 0;
  let claiming: Promise<void> | null = null;
  /** The latest dispatch, and what it leased has its places. */
  let leasing: Promise<void> = Promise.resolve();
  /** What was leased is begun. */
  let beginning: Promise<void> = Promise.resolve();
  let idle: () => void = () => undefined;
  let cancelLook = timers.after(0, look);
  /** Where the dispatches of a burst have come to, by organization. What came late with an earlier id is found at its end, or at a look. */
  let passed: Dispatched["last"] = {};
  let turn_after = "";
  let burst = no_burst;
  let cancelDispatch: (() => void) | null = null;
  const dispatches = createLane(runtime, dispatch);
  const claims = createLane(runtime, claim);
  const pace = createDispatchPace(timers, () => {
    if (!stopped) dispatches.run();
  });

  function room(): Room {
    const { slots, reserve, few, per_organization, lease_ms } = terms;
    return { ...shares.room(), free: Math.max(slots - shares.in_flight, 0), reserve, few, per_organization, lease_ms };
  }

  /** For what was not dispatched yet: it comes after what waits. */
  function newRoom(): Room {
    const known = room();
    const taken = Array.from(waiting.keys(), (key) => [key, [0, 0] as const]);
    return { ...known, receivers: { ...known.receivers, ...Object.fromEntries(taken) } };
  }

  function look(): void {
    if (stopped) return;
    cancelLook = timers.after(look_ms.idle, look);
    look_wanted = true;
    all_events_wanted = true;
    dispatches.run();
    claims.run();
  }

  async function dispatch(): Promise<void> {
    const few = pace.begin();
    // A claim under way takes places that the rest of a burst is meant for.
    if (few) await claiming?.catch(() => undefined);
    await politely();
    const after = all_events_wanted ? {} : passed;
    all_events_wanted = false;
    const made = {
      created_at: formatTimestampUs(clock.now_us()),
      next_id: () => ids.next("delivery"),
      events_max: few ? atMost(events_as_places_come) : events_per_statement,
      after,
      turn_after,
    };
    // One of the two leases at a time: both would fill the same room.
    const offered = claiming !== null || stopped ? { ...room(), free: 0 } : newRoom();
    const dispatching = dispatchNext(db, offered, made, burst);
    burst = no_burst;
    leasing = dispatching.then(({ dispatched }) => place(dispatched.leased)).catch(() => undefined);
    const { dispatched, so_far } = await dispatching;
    burst = so_far;
    const { leased, waiting: more, events_left, last, turn } = dispatched;
    turn_after = turn;
    passed = events_left ? last : {};
    await leasing;
    for (const each of more) waiting.set(receiverKey(each), each);
    if (more.length > 0) claims.run();
    if (stopped || (!events_left && Object.keys(after).length === 0)) return;
    // A part at a time: the first deliveries need not wait until the last event is dispatched.
    if (leased.length === 0 && more.length === 0) return dispatches.run();
    pace.wait();
    if (leased.some(hasPlaces)) dispatches.run();
  }

  /** It has room, and nothing that is known of waits for it. */
  function hasPlaces(receiver: ReceiverKey): boolean {
    return !waiting.has(receiverKey(receiver)) && shares.hasRoom(receiver);
  }

  async function claim(): Promise<void> {
    claiming = leasing.then(claimWanted);
    try {
      await claiming;
    } finally {
      claiming = null;
    }
  }

  async function claimWanted(): Promise<void> {
    if (stopped || shares.in_flight >= terms.slots) return;
    if (look_wanted) return claimOfAll();
    const receivers = [...waiting.values()].filter((each) => shares.hasRoom(each));
    if (receivers.length === 0) return;
    await politely();
    if (stopped) return;
    ended_since_claim = 0;
    const offered = room();
    const { deliveries, passed_over } = await claimDue(db, offered, receivers);
    place(deliveries);
    if (passed_over) return;
    // Unless it was found to have more while the claim was under way.
    const gone = drained(offered, receivers, deliveries).filter((each) => waiting.get(receiverKey(each)) === each);
    for (const each of gone) waiting.delete(receiverKey(each));
    if (gone.some(hasPlaces)) pace.ended(true);
  }

  /** The receivers that had room for more than was claimed: nothing else of theirs is due. */
  function drained(offered: Room, receivers: readonly ReceiverKey[], claimed: readonly ReceiverKey[]): ReceiverKey[] {
    // Where a bound of the node or of the organization was met, whoever got less may have been out of turn.
    if (claimed.length >= offered.free - offered.reserve) return [];
    const of_receiver = countBy(claimed, receiverKey);
    const of_organization = countBy(claimed, ({ org_id }) => org_id);
    return receivers.filter((each) => {
      const { org_id } = each;
      const in_organization = (offered.organizations[org_id] ?? 0) + (of_organization.get(org_id) ?? 0);
      if (in_organization >= offered.per_organization) return false;
      const [in_flight, share] = offered.receivers[receiverKey(each)] ?? [0, offered.per_webhook];
      return (of_receiver.get(receiverKey(each)) ?? 0) < share - in_flight;
    });
  }

  async function claimOfAll(): Promise<void> {
    look_wanted = false;
    ended_since_claim = 0;
    const { deliveries, due, due_in_ms } = await claimDue(db, room());
    for (const each of due) waiting.set(receiverKey(each), each);
    place(deliveries);
    if (stopped || due_in_ms === null) return;
    cancelLook();
    // Overdue and not claimed: there is no room for it, or another node has it.
    const soon = due_in_ms > 0 && deliveries.length === 0;
    cancelLook = timers.after(soon ? Math.min(due_in_ms + 1, look_ms.pending) : look_ms.pending, look);
  }

  async function politely(): Promise<void> {
    if (giveWay?.asked()) await giveWay.rest();
  }

  /** Of as many as one statement could be for. */
  function atMost(many: number): number {
    return giveWay?.expecting() ? Math.min(many, at_once) : many;
  }

  /** They have their places at once, and begin in the next turn: PostgreSQL makes the next ones ready while these are sent. */
  function place(leased: readonly ClaimedDelivery[]): void {
    if (leased.length === 0) return;
    for (const each of leased) shares.begin(each, largeBytes(each));
    const leased_us = clock.now_us();
    beginning = beginning.then(() => startAll(leased, leased_us));
  }

  async function startAll(leased: readonly ClaimedDelivery[], leased_us: number): Promise<void> {
    await nextTurn();
    let known_us = leased_us;
    let gone: ReadonlySet<string> = new Set();
    for (const [index, each] of leased.entries()) {
      await politely();
      if (clock.now_us() - known_us > lease_known_us) {
        gone = await goneOf(leased.slice(index));
        known_us = clock.now_us();
      }
      if (gone.has(each.delivery_id)) drop(each);
      else start(each);
    }
  }

  async function goneOf(leased: readonly ClaimedDelivery[]): Promise<ReadonlySet<string>> {
    try {
      return await readGone(db, leased);
    } catch (error) {
      runtime.log.error({ err: error }, "looking for deliveries failed");
      return new Set();
    }
  }

  function drop(claimed: ClaimedDelivery): void {
    shares.end(claimed, null, 0, largeBytes(claimed));
    if (shares.in_flight === 0) idle();
    if (waiting.size > 0) claims.run();
  }

  function start(claimed: ClaimedDelivery): void {
    underway.set(claimed, clock.now_us());
    attemptDelivery(sending, claimed, terms.waits_ms)
      .then(
        (ended) => {
          if (underway.has(claimed)) settler.add(ended);
          const { status } = ended.settlement;
          const taken = status === "cancelled" ? null : status === "delivered";
          shares.end(claimed, taken, ended.duration_ms, largeBytes(claimed));
        },
        (error: unknown) => {
          shares.end(claimed, null, 0, largeBytes(claimed));
          // Not the receiver's failure but ours; its lease runs out and another attempt follows.
          runtime.log.error({ err: error, delivery_id: claimed.delivery_id }, "an attempt failed");
        },
      )
      .finally(() => {
        underway.delete(claimed);
        if (shares.in_flight === 0) idle();
        pace.ended(hasPlaces(claimed));
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
        waiting.set(receiverKey(receiver), { ...receiver });
        claims.run();
        return;
      }
      cancelDispatch ??= timers.after(dispatch_every_ms, () => {
        cancelDispatch = null;
        pace.poked();
      });
    },
    async stop() {
      stopped = true;
      cancelLook();
      cancelDispatch?.();
      pace.begin();
      await Promise.all([dispatches.ended(), claims.ended()]);
      await beginning;
      if (shares.in_flight > 0) {
        await new Promise<void>((resolve) => {
          idle = resolve;
          timers.after(stop_wait_ms, resolve);
        });
      }
      // Their leases would hold up the next attempts for longer than the waits between them.
      for (const [claimed, began_us] of underway)
        settler.add(abandonedAttempt(runtime, claimed, began_us, terms.waits_ms));
      underway.clear();
      await settler.stop();
    },
  };
}

function countBy<T>(all: readonly T[], key: (each: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of all) counts.set(key(each), (counts.get(key(each)) ?? 0) + 1);
  return counts;
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
