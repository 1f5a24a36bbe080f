/**
 * The deliverer, the second of the three machines: leases due deliveries within the bounds of receivers, organizations and
 * the node, sends each one once, and hands the attempt to the settler.
 *
 *   one delivery:  due ──lease──> leased ──send──> in flight ──answer, failure or 10 s──> attempt, handed to the settler
 *   the machine:   idle ──woken──> leasing ──> idle; attempts run side by side meanwhile
 *
 * What wakes it:
 * - the dispatcher made deliveries, or a person retried one;
 * - attempts ended, and half of their receiver's share is free, for which more was due;
 * - attempts ended, 32 or half of those in flight, after a bound of the node or of an organization prevented a lease;
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
import { type OneAtATime, oneAtATime } from "./one-at-a-time.ts";
import { ReceiverShares } from "./receiver-shares.ts";

const look_ms = { idle: 1_000, pending: 500 };
/** Where a bound of the node or of an organization prevented a lease, so many places are free before the next one. */
const lease_after_ends = 32;
/** A service must end within 10 s, and an attempt may take as long. */
const stop_wait_ms = 4_000;

type DelivererRuntime = Pick<Runtime, "db" | "clock" | "timers" | "log" | "sealer" | "httpOut">;

/** The deliverer of one node. It calls `settle` with each attempt that ended. */
export class Deliverer {
  readonly #runtime: DelivererRuntime;
  readonly #terms: DeliveryTerms;
  readonly #courtesy: Courtesy;
  readonly #settle: (attempt: Attempt) => void;
  readonly #shares: ReceiverShares;
  readonly #leasing: OneAtATime;
  /** When each attempt in flight began, in microseconds since 1970. */
  readonly #began = new Map<LeasedDelivery, number>();
  /** Receivers that had more due than room, by the latest lease. */
  #waiting: ReadonlySet<string> = new Set();
  /** A bound other than a receiver's share prevented a lease. */
  #blocked = false;
  /** Attempts that ended since the latest lease began, so the lease did not see their places. */
  #ended = 0;
  #stopped = false;
  #idle: () => void = () => undefined;
  #cancelLook: () => void;

  /** Starts it; the first lease follows at once. */
  constructor(runtime: DelivererRuntime, terms: DeliveryTerms, courtesy: Courtesy, settle: (attempt: Attempt) => void) {
    this.#runtime = { ...runtime, sealer: remembering(runtime.sealer) };
    this.#terms = terms;
    this.#courtesy = courtesy;
    this.#settle = settle;
    this.#shares = new ReceiverShares(terms.per_webhook);
    this.#leasing = oneAtATime(runtime.log, () => this.#lease());
    this.#cancelLook = runtime.timers.after(0, () => this.wake());
  }

  /** Deliveries are due. */
  wake(): void {
    this.#leasing.run();
  }

  /** Begins no more attempts, and waits 4 s for those in flight. Hands on the rest as interrupted, so that no lease is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelLook();
    await this.#leasing.ended();
    if (this.#shares.in_flight > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
        this.#runtime.timers.after(stop_wait_ms, resolve);
      });
    for (const [leased, at_us] of this.#began) this.#settle(interruptedAttempt(this.#runtime, leased, at_us));
    this.#began.clear();
  }

  async #lease(): Promise<void> {
    await this.#courtesy.rest();
    if (this.#stopped) return;
    this.#lookIn(look_ms.idle);
    this.#blocked = this.#shares.in_flight >= this.#terms.slots;
    if (this.#blocked) return;
    this.#ended = 0;
    const { deliveries, more, blocked, due_in_ms } = await leaseDue(this.#runtime.db, this.#room());
    this.#waiting = new Set(more.map(receiverKey));
    this.#blocked = blocked;
    for (const each of deliveries) void this.#send(each);
    if ((blocked && this.#enoughEnded()) || (this.#ended > 0 && more.some((each) => this.#shares.hasRoom(each))))
      this.wake();
    if (due_in_ms === null) return;
    // Overdue and not leased: there is no room for it, or another node has it.
    this.#lookIn(due_in_ms > 0 ? Math.min(due_in_ms + 1, look_ms.pending) : look_ms.pending);
  }

  #lookIn(wait_ms: number): void {
    this.#cancelLook();
    if (!this.#stopped) this.#cancelLook = this.#runtime.timers.after(wait_ms, () => this.wake());
  }

  /** Whether so many places are free that a lease is worth its cost: one for many costs little more than one for one. */
  #enoughEnded(): boolean {
    return this.#ended > 0 && (this.#ended >= lease_after_ends || this.#ended >= this.#shares.in_flight);
  }

  #room(): Room {
    const { slots, reserve, few, per_organization, lease_ms } = this.#terms;
    return { ...this.#shares.room(), free: slots - this.#shares.in_flight, reserve, few, per_organization, lease_ms };
  }

  async #send(leased: LeasedDelivery): Promise<void> {
    const { clock, log } = this.#runtime;
    const bytes = largeBytes(leased);
    this.#shares.begin(leased, bytes);
    this.#began.set(leased, clock.now_us());
    let attempt: Attempt | null = null;
    try {
      attempt = await attemptDelivery(this.#runtime, leased);
    } catch (error) {
      // A failure of the service, not of the receiver. The lease runs out, and another attempt follows.
      log.error({ err: error, delivery_id: leased.delivery_id }, "an attempt failed");
    }
    const taken = attempt?.result ? attempt.result.error === null : null;
    this.#shares.end(leased, taken, attempt?.result?.duration_ms ?? 0, bytes);
    // After a stop it was handed on as interrupted.
    if (this.#began.delete(leased) && attempt !== null) this.#settle(attempt);
    if (this.#shares.in_flight === 0) this.#idle();
    this.#ended += 1;
    if (
      (this.#blocked && this.#enoughEnded()) ||
      (this.#waiting.has(receiverKey(leased)) && this.#shares.hasRoom(leased))
    )
      this.wake();
  }
}
