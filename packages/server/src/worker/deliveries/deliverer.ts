/**
 * The deliverer, the second of the three machines: leases due deliveries within the bounds of receivers, organizations and
 * the node, sends each one once, and hands the attempt to the settler.
 *
 *   one delivery:  due ──lease──> leased ──send──> in flight ──answer, failure or 10 s──> attempt, handed to the settler
 *   the machine:   idle ──woken──> leasing ──> idle; attempts run side by side meanwhile
 *
 * What wakes it:
 * - the dispatcher made deliveries, or a person retried one;
 * - an attempt ended, and its receiver had more due than its share allowed, or a bound of the node or of its organization
 *   prevented a lease;
 * - a timer: when the earliest delivery is due, at the latest after 500 ms while any is pending and after 1 s otherwise.
 *
 * What it hands on: an `Attempt` for each lease.
 */
import type { Runtime } from "../../operations/runtime.ts";
import { remembering } from "../../operations/shared/sealer.ts";
import { type Attempt, attemptDelivery, interruptedAttempt } from "../../operations/webhooks/attempt-delivery.ts";
import {
  type LeasedDelivery,
  largeBytes,
  leaseDue,
  type Room,
  receiverKey,
} from "../../store/webhooks/delivery-queue.ts";
import type { Courtesy } from "./courtesy.ts";
import type { DeliveryTerms } from "./delivery-terms.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { ReceiverShares } from "./receiver-shares.ts";

const look_ms = { idle: 1_000, pending: 500 };
/** A service must end within 10 s, and an attempt may take as long. */
const stop_wait_ms = 4_000;

/** The deliverer of one node. */
export interface Deliverer {
  /** Deliveries are due. */
  wake(): void;
  /** Begins no more attempts, and waits 4 s for those in flight. Hands on the rest as interrupted, so that no lease is left. */
  stop(): Promise<void>;
}

/** Starts the deliverer. It calls `settle` with each attempt that ended. */
export function startDeliverer(
  runtime: Pick<Runtime, "db" | "clock" | "timers" | "log" | "sealer" | "httpOut">,
  terms: DeliveryTerms,
  courtesy: Courtesy,
  settle: (attempt: Attempt) => void,
): Deliverer {
  const { db, clock, timers, log } = runtime;
  const sending = { ...runtime, sealer: remembering(runtime.sealer) };
  const shares = new ReceiverShares(terms.per_webhook);
  const leasing = oneAtATime(log, lease);
  /** When each attempt in flight began, in microseconds since 1970. */
  const began = new Map<LeasedDelivery, number>();
  /** Receivers that had more due than room, by the latest lease. */
  let waiting: ReadonlySet<string> = new Set();
  /** A bound other than a receiver's share prevented a lease. */
  let blocked = false;
  /** An attempt ended while the latest lease ran, so the lease did not see its place. */
  let freed = false;
  let stopped = false;
  let idle: () => void = () => undefined;
  let cancelLook = timers.after(0, leasing.run);

  async function lease(): Promise<void> {
    await courtesy.rest();
    if (stopped) return;
    lookIn(look_ms.idle);
    blocked = shares.in_flight >= terms.slots;
    if (blocked) return;
    freed = false;
    const leased = await leaseDue(db, room());
    waiting = new Set(leased.more.map(receiverKey));
    blocked = leased.blocked;
    for (const each of leased.deliveries) void send(each);
    if (freed && (blocked || leased.more.some((each) => shares.hasRoom(each)))) leasing.run();
    const { due_in_ms } = leased;
    if (due_in_ms === null) return;
    // Overdue and not leased: there is no room for it, or another node has it.
    lookIn(due_in_ms > 0 ? Math.min(due_in_ms + 1, look_ms.pending) : look_ms.pending);
  }

  function lookIn(wait_ms: number): void {
    cancelLook();
    if (!stopped) cancelLook = timers.after(wait_ms, leasing.run);
  }

  function room(): Room {
    const { slots, reserve, few, per_organization, lease_ms } = terms;
    return { ...shares.room(), free: slots - shares.in_flight, reserve, few, per_organization, lease_ms };
  }

  async function send(leased: LeasedDelivery): Promise<void> {
    const bytes = largeBytes(leased);
    shares.begin(leased, bytes);
    began.set(leased, clock.now_us());
    let attempt: Attempt | null = null;
    try {
      attempt = await attemptDelivery(sending, leased);
    } catch (error) {
      // A failure of the service, not of the receiver. The lease runs out, and another attempt follows.
      log.error({ err: error, delivery_id: leased.delivery_id }, "an attempt failed");
    }
    const taken = attempt?.result ? attempt.result.error === null : null;
    shares.end(leased, taken, attempt?.result?.duration_ms ?? 0, bytes);
    // After a stop it was handed on as interrupted.
    if (began.delete(leased) && attempt !== null) settle(attempt);
    if (shares.in_flight === 0) idle();
    freed = true;
    if (blocked || (waiting.has(receiverKey(leased)) && shares.hasRoom(leased))) leasing.run();
  }

  return {
    wake: leasing.run,
    async stop() {
      stopped = true;
      cancelLook();
      await leasing.ended();
      if (shares.in_flight > 0)
        await new Promise<void>((resolve) => {
          idle = resolve;
          timers.after(stop_wait_ms, resolve);
        });
      for (const [leased, at_us] of began) settle(interruptedAttempt(runtime, leased, at_us));
      began.clear();
    },
  };
}
