/**
 * The deliverer, the second of the three machines: leases due deliveries, sends each one once, and hands the attempt to the
 * settler. Each receiver, each organization and the node has a bound for attempts in flight.
 *
 *   one delivery:  due ──lease──> leased ──send──> in flight ──answer, failure or 10 s──> attempt, handed to the settler
 *   the machine:   idle ──woken──> leasing ──> idle; attempts run in parallel to this
 *
 * What wakes it:
 * - The dispatcher made deliveries, or a person retried one.
 * - An attempt ended, its receiver had more due than room, and half of the receiver's share is free.
 * - A bound of the node or of an organization prevented a lease. Since then 32 attempts ended, or half of those in flight.
 * - A timer: when the earliest delivery is due, but after 500 ms at the latest. Without pending deliveries: after 1 s.
 *
 * What it hands on: one `Attempt` for each lease.
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
/** After a bound of the node or of an organization prevented a lease, this many attempts must end before the next one. */
const lease_after_ends = 32;
/** A stop does not wait for every attempt: an attempt may take 10 s, and the service must end within 10 s. */
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
  /** Receivers that had more due than room when the latest lease ran. */
  #waiting: ReadonlySet<string> = new Set();
  /** Whether a bound of the node or of an organization prevented a lease. */
  #blocked = false;
  /** Attempts that ended after the latest lease began. That lease did not know that their places are free. */
  #ended = 0;
  #stopped = false;
  /** Called when no attempt is in flight. `stop` waits for it. */
  #onIdle: () => void = () => undefined;
  #cancelLook: () => void;

  /** Starts the deliverer. The first lease follows at once. */
  constructor(runtime: DelivererRuntime, terms: DeliveryTerms, courtesy: Courtesy, settle: (attempt: Attempt) => void) {
    this.#runtime = { ...runtime, sealer: remembering(runtime.sealer) };
    this.#terms = terms;
    this.#courtesy = courtesy;
    this.#settle = settle;
    this.#shares = new ReceiverShares(terms.per_webhook);
    this.#leasing = oneAtATime(runtime.log, () => this.#lease());
    this.#cancelLook = runtime.timers.after(0, () => this.wake());
  }

  /** Call it when deliveries are due. */
  wake(): void {
    this.#leasing.run();
  }

  /** Begins no more attempts, and waits 4 s for those in flight. Hands the rest to the settler as interrupted. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelLook();
    await this.#leasing.ended();
    if (this.#shares.in_flight > 0)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
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
    // Attempts may have ended while the statement ran.
    const receiver_has_room = this.#ended > 0 && more.some((each) => this.#shares.hasRoom(each));
    if (receiver_has_room || (blocked && this.#enoughEnded())) this.wake();
    if (due_in_ms === null) return;
    // A delivery that is overdue and was not leased has no room, or another node has it.
    this.#lookIn(due_in_ms > 0 ? Math.min(due_in_ms + 1, look_ms.pending) : look_ms.pending);
  }

  #lookIn(wait_ms: number): void {
    this.#cancelLook();
    if (!this.#stopped) this.#cancelLook = this.#runtime.timers.after(wait_ms, () => this.wake());
  }

  /** Whether enough attempts ended for the next lease. A lease of many deliveries costs little more than a lease of one. */
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
    const result = attempt?.result ?? null;
    this.#shares.end(leased, result && result.error === null, result?.duration_ms ?? 0, bytes);
    // After a stop the settler has this attempt already, as interrupted.
    if (this.#began.delete(leased) && attempt !== null) this.#settle(attempt);
    if (this.#shares.in_flight === 0) this.#onIdle();
    this.#ended += 1;
    const receiver_has_room = this.#waiting.has(receiverKey(leased)) && this.#shares.hasRoom(leased);
    if (receiver_has_room || (this.#blocked && this.#enoughEnded())) this.wake();
  }
}
